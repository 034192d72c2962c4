-- A user's operations in these logs that pass the filters, the newest first. At most `window` rows of the logs are read:
-- those below `before` that operation_window.sql counts. The responses of calls that wrote nothing are the long ones,
-- and stand out of line: the text is not looked for there.
select operation.operation_id, operation.tool_call_id, operation.user_id, operation.attempt, operation.kind,
       operation.status, operation.principal, operation.request, operation.response, operation.state,
       operation.engine, operation.error_code, operation.started_at, operation.duration_ms, operation.config
  from (select log.scope_id, recent.operation_id
          from unnest(%(scope_ids)s::bigint[]) as log (scope_id)
         cross join lateral (
                select operation.operation_id
                  from operation
                 where operation.scope_id = log.scope_id
                   and operation.user_id = %(user_id)s
                   and operation.parent_id is null
                   and operation.operation_id < %(before)s
                 order by operation.operation_id desc
                 limit %(window)s) as recent
         order by recent.operation_id desc
         limit %(window)s) as newest
 cross join lateral (
        select *
          from operation
         where operation.scope_id = newest.scope_id
           and operation.operation_id = newest.operation_id
        offset 0) as operation
 where (%(kinds)s::text[] is null or operation.kind = any (%(kinds)s::text[]))
   and (%(status)s::text is null or operation.status = %(status)s)
   and (%(actor)s::text is null or operation.principal->>'actor' = %(actor)s)
   and (%(since)s::timestamptz is null or operation.started_at >= %(since)s)
   and (%(until)s::timestamptz is null or operation.started_at < %(until)s)
   and (%(text)s::text is null
        or strpos(lower(concat_ws(' ', operation.tool_call_id, operation.error_code, operation.request::text,
                                  case when operation.status not in ('answered', 'failed', 'denied')
                                       then operation.response->'writes' end)), lower(%(text)s)) > 0)
 order by newest.operation_id desc
 limit %(limit)s;
