-- Keep a call for some seconds more. No row comes back when another worker has it, or it is done.
update operation
   set lease_until = clock_timestamp() + make_interval(secs => %(lease_s)s)
 where scope_id = %(scope_id)s
   and operation_id = %(operation_id)s
   and status = 'queued'
   and tries = %(tries)s
returning lease_until;
