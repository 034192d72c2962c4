-- The pages whose lines were made from words of one entry, and what became of each line, in the order of the words. A page
-- that was deleted is there by its last path.
select statement.scope_id, page.path, statement.line_key, statement.start_char, statement.end_char,
       statement.state, statement.held_in
  from statement
 cross join lateral (
        select revision.path
          from revision
         where revision.scope_id = statement.scope_id
           and revision.file_id = statement.file_id
         order by revision.rev desc
         limit 1) as page
 where statement.entry_scope = %(entry_scope)s
   and statement.entry_path = %(path)s
   and statement.scope_id = any (%(scope_ids)s::bigint[])
   and statement.rev_end is null
 order by statement.start_char, statement.end_char, page.path, statement.line_key
 limit %(limit)s;
