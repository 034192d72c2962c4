-- Remove some prompts. A row for each that was there: its bytes.
delete from prompt
 using unnest(%(tenant_ids)s::bigint[], %(sha256s)s::bytea[]) as unnamed (tenant_id, sha256)
 where prompt.tenant_id = unnamed.tenant_id
   and prompt.sha256 = unnamed.sha256
returning octet_length(prompt.text) as size_bytes;
