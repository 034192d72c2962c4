-- How a person keeps items of work: pinned, archived, left out of packs, or until a day.
alter table work_mark add column ends_on date;
alter table work_mark drop constraint work_mark_action_check;
alter table work_mark add constraint work_mark_action_check
  check (action in ('done', 'drop', 'keep', 'pin', 'unpin', 'archive', 'restore', 'leave_out', 'bring_in', 'end'));

-- Which projects a project reads from: what holds there is told beside its own work, to members of both alone.
create table project_reading (
  scope_id       bigint not null,                       -- of the project that reads
  tenant_id      bigint not null,
  read_scope_id  bigint not null check (read_scope_id <> scope_id),
  added_at       timestamptz not null,
  primary key (scope_id, read_scope_id)
);

do $$
declare
  is_owner text := $p$(select acting_as()) = 'owner'$p$;
  reads text := $p$tenant_id = (select acting_tenant())
    and (read_scope_id = any ((select readable_scopes())::bigint[])
         and scope_id = any ((select readable_scopes())::bigint[]) or (select acting_as()) = 'admin')$p$;
  writes text := $p$tenant_id = (select acting_tenant())
    and (read_scope_id = any ((select readable_scopes())::bigint[])
         and scope_id = any ((select writable_scopes())::bigint[]) or (select acting_as()) = 'admin')$p$;
begin
  alter table project_reading enable row level security;
  alter table project_reading force row level security;
  execute format('create policy reads on project_reading for select using (%s or %s)', reads, is_owner);
  execute format('create policy inserts on project_reading for insert with check (%s or %s)', writes, is_owner);
  execute format('create policy deletes on project_reading for delete using (%s or %s)', writes, is_owner);
end
$$;
