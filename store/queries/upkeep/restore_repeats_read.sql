-- When the texts of these entries of a journal were told again, and by which calls.
select path, said_at, tool_call_id, taken_back_in
  from told_again
 where scope_id = %(scope_id)s
   and path = any (%(paths)s::text[])
 order by path, said_at, tool_call_id;
