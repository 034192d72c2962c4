-- The scopes of a tenant, of every kind.
select scope_id
  from scope
 where tenant_id = %(tenant_id)s::bigint;
