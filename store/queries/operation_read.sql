-- Every attempt at one of a user's tool calls in these logs, the newest first. No row when there was none.
select operation_id, tool_call_id, user_id, attempt, kind, status, principal, request, response, state, engine,
       error_code, started_at, duration_ms, config
  from operation
 where scope_id = any (%(scope_ids)s::bigint[])
   and tool_call_id = %(tool_call_id)s
   and user_id = %(user_id)s
   and parent_id is null
 order by operation_id desc
 limit %(limit)s;
