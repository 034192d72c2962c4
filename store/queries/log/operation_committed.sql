-- The call that holds this tool call id: it was committed, runs, is in the queue or was given up there. No row while
-- none does.
select scope_id, operation_id, kind, status, request_sha256, response, now, lease_until
  from operation
 where scope_id = any (%(scope_ids)s::bigint[])
   and user_id = %(user_id)s
   and tool_call_id = %(tool_call_id)s
   and parent_id is null
   and status in ('queued', 'quarantined', 'running', 'committed')
 order by operation_id
 limit 1;
