-- Let go of a call; a try that was not the call's fault does not count. Without effect when another worker has it.
update operation
   set lease_until = null,
       tries = tries - %(uncounted)s
 where scope_id = %(scope_id)s
   and operation_id = %(operation_id)s
   and status = 'queued'
   and tries = %(tries)s;
