-- The calls in these logs that saw a revision, the newest first: a user's, or with no user everybody's. No row when none
-- did, or when they were logged before the log kept it.
--
-- Each call in the logs is looked at, by operation_top: 100,000 of one user, or of a thousand users, with 800,000
-- operations inside them, take some 120 ms (without that index 290). One on `saw` would help nobody: row-level security
-- keeps `@>` out of the index condition, since it is not leakproof. The time when the revision was written is no bound:
-- a call that waited in the queue, or for a model, began before and saw it all the same.
select operation.scope_id, operation.operation_id, operation.tool_call_id, operation.user_id, operation.attempt, operation.kind,
       operation.status, operation.principal, operation.request, operation.response, operation.state,
       operation.engine, operation.error_code, operation.started_at, operation.duration_ms, operation.config,
       operation.now, operation.inside, operation.inside_sha256
  from unnest(%(scope_ids)s::bigint[]) as log (scope_id)
 cross join lateral (
        select *
          from operation
         where operation.scope_id = log.scope_id
           and operation.parent_id is null
           and operation.operation_id < %(before)s
           and (%(user_id)s::text is null or operation.user_id = %(user_id)s)
           and operation.saw @> array[%(revision)s::text] collate "C"
         order by operation.operation_id desc
         limit %(limit)s) as operation
 order by operation.operation_id desc
 limit %(limit)s;
