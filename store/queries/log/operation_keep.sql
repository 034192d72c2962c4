-- Mark every attempt at a user's call in these logs as kept, or no longer. No row comes back when there is none.
update operation
   set kept = %(kept)s
 where scope_id = any (%(scope_ids)s::bigint[])
   and user_id = %(user_id)s
   and tool_call_id = %(tool_call_id)s
   and parent_id is null
returning operation_id;
