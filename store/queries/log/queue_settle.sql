-- Say what became of a call of the queue: answered, as its commit is here, or failed, as it is made anew.
update operation
   set status = %(status)s,
       error_code = case when %(status)s = 'failed' then error_code end,
       lease_until = null
 where scope_id = %(scope_id)s
   and operation_id = %(operation_id)s
   and status in ('queued', 'quarantined');
