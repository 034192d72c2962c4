-- Keep the text of a prompt that a tenant's calls name by its digest, once.
insert into prompt (tenant_id, sha256, text)
values (%(tenant_id)s, %(sha256)s, %(text)s)
on conflict do nothing;
