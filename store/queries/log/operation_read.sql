-- The attempts at one of a user's tool calls in these logs, the newest first; where there are more, those go before
-- others that only gave the first answer again. No row when there was none.
select operation_id, tool_call_id, user_id, attempt, kind, status, principal, request, response, state, engine,
       error_code, started_at, duration_ms, config, now, request_sha256, result_sha256, saw,
       inside, inside_sha256
  from (
    select *
      from operation
     where scope_id = any (%(scope_ids)s::bigint[])
       and tool_call_id = %(tool_call_id)s
       and user_id = %(user_id)s
       and parent_id is null
     order by status = 'repeated', operation_id desc
     limit %(limit)s) as attempt
 order by operation_id desc;
