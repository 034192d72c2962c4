-- Put a prompt with a filler in the place of the words, under its new digest.
with renamed as (
  update operation
     set prompt_sha256 = sha256(convert_to(%(text)s::text, 'UTF8'))
   where tenant_id = %(tenant_id)s::bigint
     and prompt_sha256 = %(sha256)s::bytea
)
, gone as (
  delete from prompt
   where tenant_id = %(tenant_id)s::bigint
     and sha256 = %(sha256)s::bytea
)
insert into prompt (tenant_id, sha256, text)
values (%(tenant_id)s::bigint, sha256(convert_to(%(text)s::text, 'UTF8')), %(text)s::text)
on conflict (tenant_id, sha256) do nothing;
