-- The committed calls in a user's log that took other calls back, and which ones.
select tool_call_id, request ->> 'tool_call_id' as reverted
  from operation
 where scope_id = %(scope_id)s
   and parent_id is null
   and kind = 'memory_revert'
   and status = 'committed';
