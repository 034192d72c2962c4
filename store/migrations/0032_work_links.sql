-- Which project of Memex the sessions of a label belong to, as a person said. A label is what identifies the place of a
-- session: a git remote, or a folder of a machine.
create table work_link (
  scope_id   bigint not null,
  tenant_id  bigint not null,
  label      text collate "C" not null check (length(label) between 1 and 1000),
  slug       text collate "C" not null,
  linked_at  timestamptz not null,
  primary key (scope_id, label)
);
create index event_label on event (scope_id, conversation_id, event_no desc) where metadata ? 'label';

do $$
declare
  is_owner text := $p$(select acting_as()) = 'owner'$p$;
  reads text := $p$tenant_id = (select acting_tenant())
    and (scope_id = any ((select readable_scopes())::bigint[]) or (select acting_as()) = 'admin')$p$;
  writes text := $p$tenant_id = (select acting_tenant())
    and (scope_id = any ((select writable_scopes())::bigint[]) or (select acting_as()) = 'admin')$p$;
begin
  alter table work_link enable row level security;
  alter table work_link force row level security;
  execute format('create policy reads on work_link for select using (%s or %s)', reads, is_owner);
  execute format('create policy inserts on work_link for insert with check (%s or %s)', writes, is_owner);
  execute format('create policy updates on work_link for update using (%s or %s)', writes, is_owner);
  execute format('create policy deletes on work_link for delete using (%s or %s)', writes, is_owner);
end
$$;
