-- Whether a user has more than `window` calls in one of these logs. No row if not.
select 1 as is_more
  from unnest(%(scope_ids)s::bigint[]) as log (scope_id)
 cross join lateral (
        select
          from operation
         where operation.scope_id = log.scope_id
           and operation.user_id = %(user_id)s
           and operation.parent_id is null
         order by operation.operation_id desc
        offset %(window)s
         limit 1) as beyond
 limit 1;
