-- For how many seconds a worker still has a call of the queue. No row comes back when none has.
select extract(epoch from lease_until - clock_timestamp())::double precision as left_s
  from operation
 where scope_id = %(scope_id)s
   and operation_id = %(operation_id)s
   and status = 'queued'
   and lease_until >= clock_timestamp();
