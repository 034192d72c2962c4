-- The committed calls in a user's logs that took other calls back, and which ones, but for those of an actor since a time.
select operation.tool_call_id, taken.reverted
  from operation
 cross join lateral (
        select operation.request ->> 'tool_call_id' as reverted
         where operation.kind = 'memory_revert'
         union all
        select call ->> 'tool_call_id'
          from jsonb_array_elements(case when operation.kind = 'memory_revert_all'
                                         then operation.response -> 'result' -> 'calls'
                                    end) as call
         where (call ->> 'is_whole')::boolean) as taken
 where operation.scope_id = any (%(scope_ids)s::bigint[])
   and (%(user_id)s::text is null or operation.user_id = %(user_id)s)
   and operation.parent_id is null
   and operation.kind in ('memory_revert', 'memory_revert_all')
   and operation.status = 'committed'
   and (operation.principal ->> 'actor' = %(actor)s and operation.started_at >= %(since)s) is not true;
