-- The scopes that a caller may read, which of them it may write, the language of their files, and the access epoch; the
-- scope of visitors, if there is one; and what the tenant says about secrets, null for what it leaves to the settings.
select epoch, is_allowed, rights, scope_ids, kinds, keys, writables, languages, visitors_id, secrets_remember,
       secrets_files
  from resolve_access(%(tenant_id)s::bigint, %(role)s::text, %(user_id)s::text, %(key_id)s::bigint,
                      %(key_sha256)s::bytea);
