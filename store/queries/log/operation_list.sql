-- A user's operations in these logs, the newest first.
select operation.operation_id, operation.tool_call_id, operation.user_id, operation.attempt, operation.kind,
       operation.status, operation.principal, operation.request, operation.response, operation.state,
       operation.engine, operation.error_code, operation.started_at, operation.duration_ms, operation.config
  from unnest(%(scope_ids)s::bigint[]) as log (scope_id)
 cross join lateral (
        select *
          from operation
         where operation.scope_id = log.scope_id
           and operation.user_id = %(user_id)s
           and operation.parent_id is null
           and operation.operation_id < %(before)s
         order by operation.operation_id desc
         limit %(limit)s) as operation
 order by operation.operation_id desc
 limit %(limit)s;
