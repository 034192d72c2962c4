-- What became of the statements that were made from entries of a journal, as it stood after the change `rev` of each
-- scope of their pages. No row for words of which no statement was made, or that hold again in the entry alone, as which
-- words do that were put back and have a place in `held_in`.
select statement.entry_path, statement.start_char, statement.end_char, statement.state, statement.line_key
  from statement
  join unnest(%(scope_ids)s::bigint[], %(revs)s::bigint[]) as seen (scope_id, rev) using (scope_id)
 where statement.entry_scope = %(entry_scope)s
   and statement.entry_path = any (%(paths)s::text[])
   and (statement.state <> 'put_back' or statement.held_in is null)
   and statement.rev <= seen.rev
   and (statement.rev_end is null or statement.rev_end > seen.rev)
 order by statement.entry_path, statement.start_char, statement.end_char, statement.line_key;
