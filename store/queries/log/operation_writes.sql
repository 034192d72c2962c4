-- The revisions that a user's call in these logs wrote. No row when it committed nothing.
select response -> 'writes' as writes
  from operation
 where scope_id = any (%(scope_ids)s::bigint[])
   and user_id = %(user_id)s
   and tool_call_id = %(tool_call_id)s
   and parent_id is null
   and status = 'committed'
 order by operation_id desc
 limit 1;
