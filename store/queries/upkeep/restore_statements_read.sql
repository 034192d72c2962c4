-- What became of lines of these pages of a scope up to its change `last_rev`, in the order in which it was known. What ended
-- after that holds. Of the entries that hold the words, those of one user alone are named.
select statement.file_id, statement.line_key, owner.key as entry_owner,
       case when owner.key is null then '' else statement.entry_path end as entry_path,
       case when owner.key is null then 0 else statement.start_char end as start_char,
       case when owner.key is null then 0 else statement.end_char end as end_char, statement.state, statement.rev,
       case when statement.rev_end <= %(last_rev)s then statement.rev_end end as rev_end, statement.held_in,
       statement.newer, statement.tool_call_id, statement.changed_at, statement.said_on, statement.accepted_at
  from statement
  left join scope owner
    on owner.scope_id = statement.entry_scope
   and owner.kind = 'user'
   and owner.key = %(user_id)s::text
 where statement.scope_id = %(scope_id)s
   and statement.file_id = any (%(file_ids)s::bigint[])
   and statement.rev <= %(last_rev)s
 order by statement.rev, statement.file_id, statement.line_key, statement.entry_path, statement.start_char;
