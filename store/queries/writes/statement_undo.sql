-- Let words of a journal hold again that a call took the place of which is taken back; or let what was known of them before
-- hold, if that call had let words hold again itself. The journal has its new revisions already; where the commit wrote
-- none, its scope has one more change. No rows.
with found as materialized (
  select statement.ctid as place
    from statement
   where statement.scope_id = %(scope_id)s
     and statement.tool_call_id = %(reverted)s
     and statement.entry_scope = statement.scope_id
     and statement.held_in is not null
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
     and exists (select from found)
     and not exists (
           select
             from revision
            where revision.scope_id = scope.scope_id
              and revision.rev = scope.rev
              and revision.tool_call_id = %(tool_call_id)s)
  returning rev
),
undone as (
  update statement as old
     set rev_end = coalesce((select rev from advanced), scope.rev)
    from scope
   where scope.scope_id = %(scope_id)s
     and old.scope_id = %(scope_id)s
     and old.ctid in (select place from found)
  returning old.*
)
insert into statement
  (scope_id, tenant_id, file_id, line_key, entry_scope, entry_path, start_char, end_char, state, rev, held_in, newer,
   tool_call_id)
select undone.scope_id, undone.tenant_id, undone.file_id, undone.line_key, undone.entry_scope, undone.entry_path,
       undone.start_char, undone.end_char, coalesce(before.state, 'put_back'), undone.rev_end,
       coalesce(before.held_in, undone.held_in), before.newer, %(tool_call_id)s
  from undone
  left join statement as before
    on before.scope_id = undone.scope_id
   and before.file_id = undone.file_id
   and before.line_key = undone.line_key
   and before.entry_path = undone.entry_path
   and before.start_char = undone.start_char
   and before.rev_end = undone.rev
    on conflict do nothing;
