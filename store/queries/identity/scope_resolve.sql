-- The scopes that a caller may read, whether it may write them, and the language of their files.
select scope_id, kind, key, writable, language
  from resolve_scopes(%(tenant_id)s::bigint, %(role)s::text, %(user_id)s::text)
 order by kind, key;
