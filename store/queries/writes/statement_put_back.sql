-- Let words of an entry hold again whose place a newer statement took; or that were forgotten, then wherever entries have
-- them. That is one more change of the journal's scope, whose lock is held. No rows.
with gone as materialized (
  select statement.ctid as place
    from statement
   where statement.scope_id = %(scope_id)s
     and statement.line_key = %(line_key)s
     and statement.entry_scope = statement.scope_id
     and statement.held_in is not null
     and (statement.state = 'forgotten' or (statement.state in ('replaced', 'closed') and statement.entry_path = %(path)s))
     and statement.rev_end is null
     and exists (
           select
             from revision
            where revision.scope_id = statement.scope_id
              and revision.file_id = statement.file_id
              and revision.path = statement.entry_path)
),
advanced as (
  update scope
     set rev = rev + 1,
         last_at = greatest(clock_timestamp(), last_at),
         counted_rev = case when counted_rev = rev then rev + 1 else counted_rev end
   where scope_id = %(scope_id)s
     and exists (select from gone)
  returning rev
),
ended as (
  update statement as old
     set rev_end = advanced.rev
    from advanced
   where old.scope_id = %(scope_id)s
     and old.ctid in (select place from gone)
  returning old.*, advanced.rev as now
)
insert into statement
  (scope_id, tenant_id, file_id, line_key, entry_scope, entry_path, start_char, end_char, state, rev, held_in, tool_call_id)
select scope_id, tenant_id, file_id, line_key, entry_scope, entry_path, start_char, end_char, 'put_back', now, held_in,
       %(tool_call_id)s
  from ended
    on conflict do nothing;
