-- Files of exports that were read to their end: digests of content and reader, so that an unchanged file is not read
-- again.
create table conversation_file (
  scope_id   bigint not null,
  tenant_id  bigint not null,
  sha256     bytea not null check (octet_length(sha256) = 32),
  read_at    timestamptz not null,
  primary key (scope_id, sha256)
);

do $$
declare
  is_owner text := $p$(select acting_as()) = 'owner'$p$;
  reads text := $p$tenant_id = (select acting_tenant())
    and (scope_id = any ((select readable_scopes())::bigint[]) or (select acting_as()) = 'admin')$p$;
  writes text := $p$tenant_id = (select acting_tenant())
    and (scope_id = any ((select writable_scopes())::bigint[]) or (select acting_as()) = 'admin')$p$;
begin
  alter table conversation_file enable row level security;
  alter table conversation_file force row level security;
  execute format('create policy reads on conversation_file for select using (%s or %s)', reads, is_owner);
  execute format('create policy inserts on conversation_file for insert with check (%s or %s)', writes, is_owner);
  execute format('create policy updates on conversation_file for update using (%s or %s)', writes, is_owner);
  execute format('create policy deletes on conversation_file for delete using (%s or %s)', writes, is_owner);
end
$$;
