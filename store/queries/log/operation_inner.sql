-- The operations inside these calls that have rows of their own, each call's in their order. At most a thousand a call.
select operation.parent_id, operation.operation_id, operation.tool_call_id, operation.user_id, operation.attempt,
       operation.kind, operation.status, operation.principal, operation.request, operation.response, operation.state,
       operation.engine, operation.error_code, operation.started_at, operation.duration_ms, operation.ordinal,
       operation.model, operation.usage, operation.prompt_sha256, operation.now, operation.request_sha256,
       operation.result_sha256
  from unnest(%(scope_ids)s::bigint[]) as log (scope_id)
 cross join unnest(%(parent_ids)s::bigint[]) as call (operation_id)
 cross join lateral (
        select *
          from operation
         where operation.scope_id = log.scope_id
           and operation.parent_id = call.operation_id
         order by operation.ordinal
         limit 1000) as operation
 order by operation.parent_id, operation.ordinal;
