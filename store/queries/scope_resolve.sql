-- The scopes that a caller may read, and whether it may write them.
select scope_id, kind, key, writable
  from resolve_scopes(%(tenant_id)s::bigint, %(role)s::text, %(user_id)s::text)
 order by kind, key;
