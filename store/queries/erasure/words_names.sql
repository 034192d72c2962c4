-- The names in a tenant by which things are addressed, which stay. A row for each.
select key as name from scope where tenant_id = %(tenant_id)s::bigint and (key = %(user_id)s::text or kind = 'project')
union
select label from api_key where tenant_id = %(tenant_id)s::bigint and user_id = %(user_id)s::text and label is not null
union
select document_root.name from document_root where document_root.scope_id = any (%(scope_ids)s::bigint[]);
