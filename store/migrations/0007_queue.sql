-- The queue. A call that was accepted into it holds its tool call id, as a commit does, until its commit takes it
-- over: an id is never in the queue twice, and never both there and committed.
alter table operation add column tries smallint not null default 0;
drop index operation_once;
create unique index operation_once on operation (scope_id, user_id, tool_call_id)
  where parent_id is null and status in ('queued', 'quarantined', 'running', 'committed');

-- What becomes of a call that is in the queue is the one thing in the log that can be changed.
do $$
declare
  writes text := $p$tenant_id = (select acting_tenant())
    and (scope_id = any ((select writable_scopes())::bigint[]) or (select acting_as()) = 'admin')$p$;
begin
  execute format(
    'create policy settles on operation for update '
    'using (%s and parent_id is null and status in (''queued'', ''quarantined'')) '
    'with check (%s and parent_id is null and status in (''queued'', ''answered'', ''failed''))', writes, writes);
end
$$;
