-- Give a call up, until somebody looks at it. Without effect when another worker has it.
update operation
   set status = 'quarantined',
       error_code = %(error_code)s,
       lease_until = null
 where scope_id = %(scope_id)s
   and operation_id = %(operation_id)s
   and status = 'queued'
   and tries = %(tries)s;
