-- The calls that are in the queue or were given up there, in the order in which they came; a user's, or all.
select scope_id, operation_id, tool_call_id, user_id, status, tries, error_code, now as accepted_at, lease_until
  from operation
 where tenant_id = %(tenant_id)s
   and parent_id is null
   and status in ('queued', 'quarantined')
   and (%(user_id)s::text is null or user_id = %(user_id)s)
   and operation_id > %(after)s
 order by operation_id
 limit %(limit)s;
