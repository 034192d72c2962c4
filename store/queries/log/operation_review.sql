-- The calls that may have left something to a person, and the decisions of persons, of a user in these logs, the
-- newest first. Only the newest `window` calls are looked at. No row if there is none.
select operation.operation_id, operation.tool_call_id, operation.kind, operation.request, operation.config,
       operation.response, operation.started_at
  from (select newest.*
          from unnest(%(scope_ids)s::bigint[]) as log (scope_id)
         cross join lateral (
                select *
                  from operation
                 where operation.scope_id = log.scope_id
                   and operation.user_id = %(user_id)s
                   and operation.parent_id is null
                 order by operation.operation_id desc
                 limit %(window)s) as newest
         order by newest.operation_id desc
         limit %(window)s) as operation
 where operation.status = 'committed'
   and (operation.kind = 'review_decide'
        or operation.config -> 'secrets' @> '[{"action": "flagged"}]'
        or operation.kind = 'memory_remember'
       and (operation.response -> 'result' -> 'rivals' <> '[]' or operation.response -> 'result' -> 'candidates' <> '[]'))
 order by operation.operation_id desc
 limit %(limit)s;
