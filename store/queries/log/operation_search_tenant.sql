-- The operations of a whole tenant that pass the filters, the newest first, from a place on. At most `window` rows of the
-- log are read, by operation_newest; operation_window_tenant.sql says which is the last. Only calls that can have written
-- have their responses looked at, as in operation_search.sql.
select operation.operation_id, operation.tool_call_id, operation.user_id, operation.attempt, operation.kind,
       operation.status, operation.principal, operation.request, operation.response, operation.state,
       operation.engine, operation.error_code, operation.started_at, operation.duration_ms, operation.config
  from (select *
          from operation
         where operation.tenant_id = %(tenant_id)s
           and operation.parent_id is null
           and operation.started_at >= %(since)s
           and operation.started_at < %(until)s
           and operation.started_at <= %(before_time)s
           and (operation.started_at < %(before_time)s or operation.operation_id < %(before)s)
         order by operation.started_at desc, operation.operation_id desc
         limit %(window)s) as operation
 where (%(kinds)s::text[] is null or operation.kind = any (%(kinds)s::text[]))
   and (%(status)s::text is null or operation.status = %(status)s)
   and (%(actor)s::text is null or operation.principal->>'actor' = %(actor)s)
   and (%(text)s::text is null
        or strpos(lower(concat_ws(' ', operation.tool_call_id, operation.error_code, operation.request::text,
                                  case when operation.status not in ('answered', 'failed', 'denied')
                                       then operation.response->'writes' end)), lower(%(text)s)) > 0)
 order by operation.started_at desc, operation.operation_id desc
 limit %(limit)s;
