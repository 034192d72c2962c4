-- How many vectors a user's scopes have. Always one row.
select count(*) as vectors
  from embedding
 where scope_id in (select scope_id
                      from scope
                     where tenant_id = %(tenant_id)s::bigint
                       and kind in ('user', 'conversations', 'documents')
                       and key = %(user_id)s::text);
