-- Put calls that were given up back into the queue. No row comes back when none was, or none of this caller's.
update operation
   set status = 'queued',
       error_code = null,
       tries = 0
 where tenant_id = %(tenant_id)s
   and tool_call_id = %(tool_call_id)s
   and (%(user_id)s::text is null or user_id = %(user_id)s)
   and parent_id is null
   and status = 'quarantined'
returning scope_id, operation_id, tool_call_id, user_id, status, tries, error_code, now as accepted_at, lease_until;
