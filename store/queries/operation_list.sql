-- The caller's operations, the newest first.
select operation_id, tool_call_id, user_id, attempt, kind, status, principal, request, response, state, engine,
       error_code, started_at, duration_ms, parent_id, ordinal
  from operation
 where scope_id = any (%(scope_ids)s::bigint[])
   and user_id = %(user_id)s
   and (%(before)s::bigint is null or operation_id < %(before)s)
   and (%(tool_call_id)s::text is null or tool_call_id = %(tool_call_id)s)
 order by operation_id desc
 limit %(limit)s;
