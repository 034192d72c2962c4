-- Settle what contradicts older statements: they hold beside it. The scopes have their new revisions already; one in which
-- the commit wrote none has one more change. No rows.
with found as materialized (
  select rival.ctid as place, rival.scope_id
    from jsonb_to_recordset(%(places)s::jsonb) as held (older_scope bigint, older_path text, older_key text)
    join rival
      on rival.older_scope = held.older_scope
     and rival.older_path = held.older_path
     and rival.older_key = decode(held.older_key, 'hex')
   where rival.scope_id = any (%(scope_ids)s::bigint[])
     and not rival.is_settled
     and rival.rev_end is null
),
advanced as (
  update scope
     set rev = rev + 1,
         last_at = greatest(clock_timestamp(), last_at),
         counted_rev = case when counted_rev = rev then rev + 1 else counted_rev end
   where scope_id in (select scope_id from found)
     and not exists (
           select
             from revision
            where revision.scope_id = scope.scope_id
              and revision.rev = scope.rev
              and revision.tool_call_id = %(tool_call_id)s)
  returning scope_id, rev
),
ended as (
  update rival as old
     set rev_end = coalesce((select advanced.rev from advanced where advanced.scope_id = old.scope_id), scope.rev)
    from scope
   where scope.scope_id = old.scope_id
     and (old.scope_id, old.ctid) in (select scope_id, place from found)
  returning old.*
)
insert into rival
  (scope_id, tenant_id, older_scope, older_path, older_key, older_start, older_end, newer_scope, newer_path, newer_key,
   newer_start, newer_end, is_settled, rev, tool_call_id)
select scope_id, tenant_id, older_scope, older_path, older_key, older_start, older_end, newer_scope, newer_path, newer_key,
       newer_start, newer_end, true, rev_end, %(tool_call_id)s
  from ended
    on conflict do nothing;
