-- Tell whether a call has left the queue since it was done. No row comes back when it is not in the log any more.
select status not in ('queued', 'quarantined') as is_done
  from operation
 where scope_id = %(scope_id)s
   and operation_id = %(operation_id)s;
