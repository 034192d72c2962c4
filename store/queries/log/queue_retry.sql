-- Put calls that were given up back into the queue, the first that was accepted first: those of an id, or all. No row
-- comes back when none was, or none of this caller's.
with retried as (
  update operation
     set status = 'queued',
         error_code = null,
         tries = 0
   where tenant_id = %(tenant_id)s
     and (%(tool_call_id)s::text is null or tool_call_id = %(tool_call_id)s)
     and (%(user_id)s::text is null or user_id = %(user_id)s)
     and parent_id is null
     and status = 'quarantined'
  returning scope_id, operation_id, tool_call_id, user_id, status, tries, error_code, now as accepted_at, lease_until
)
select ordered.*, remember_later(ordered.scope_id, ordered.operation_id) as deferred
  from (select *
          from retried
         order by accepted_at, operation_id) as ordered;
