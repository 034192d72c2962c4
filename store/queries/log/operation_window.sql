-- The last of the rows that operation_search.sql reads. No row when the logs end before.
select operation.operation_id, operation.started_at + operation.duration_ms * interval '1 millisecond' as ended_at
  from unnest(%(scope_ids)s::bigint[]) as log (scope_id)
 cross join lateral (
        select *
          from operation
         where operation.scope_id = log.scope_id
           and operation.user_id = %(user_id)s
           and operation.parent_id is null
           and operation.operation_id < %(before)s
         order by operation.operation_id desc
         limit %(window)s) as operation
 order by operation.operation_id desc
offset %(window)s - 1
 limit 1;
