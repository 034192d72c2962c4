-- The texts of a tenant's prompts by their SHA-256. No row for one that is not kept.
select sha256, text
  from prompt
 where tenant_id = %(tenant_id)s
   and sha256 = any (%(sha256s)s::bytea[]);
