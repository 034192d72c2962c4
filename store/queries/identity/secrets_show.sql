-- What a tenant says about secrets; null for what it leaves to the settings. One row.
select secrets_remember as remember, secrets_files as files
  from tenant
 where tenant_id = %(tenant_id)s::bigint;
