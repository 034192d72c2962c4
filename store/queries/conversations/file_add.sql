-- Note that files were read to their end. No rows.
insert into conversation_file (scope_id, tenant_id, sha256, read_at)
select %(scope_id)s, %(tenant_id)s::bigint, file.sha256, %(read_at)s::timestamptz
  from unnest(%(sha256s)s::bytea[]) as file (sha256)
on conflict do nothing;
