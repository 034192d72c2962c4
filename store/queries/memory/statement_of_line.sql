-- The words of a journal from which lines of pages in these scopes were made, as memory stood after the change `rev` of
-- each scope. No row for a line that was made from no entry.
select statement.entry_path, statement.start_char, statement.end_char, statement.state, statement.line_key
  from unnest(%(pages)s::bigint[], %(keys)s::bytea[]) as wanted (scope_id, line_key)
  join statement using (scope_id, line_key)
  join unnest(%(scope_ids)s::bigint[], %(revs)s::bigint[]) as seen (scope_id, rev) using (scope_id)
 where statement.entry_scope = %(entry_scope)s
   and statement.rev <= seen.rev
   and (statement.rev_end is null or statement.rev_end > seen.rev)
 order by statement.entry_path, statement.start_char, statement.end_char, statement.line_key;
