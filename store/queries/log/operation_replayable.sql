-- The calls of a user in these logs that gave an answer, each once, the newest first. No row when there is none.
select tool_call_id, max(operation_id) as operation_id
  from operation
 where scope_id = any (%(scope_ids)s::bigint[])
   and user_id = %(user_id)s
   and parent_id is null
   and status in ('answered', 'committed', 'dry_run')
   and kind = any (%(kinds)s::text[])
   and started_at >= %(since)s::timestamptz
   and (not %(only_degraded)s or response -> 'result' ->> 'degraded' is not null)
 group by tool_call_id
 order by operation_id desc
 limit %(limit)s;
