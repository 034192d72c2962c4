-- The sums of a tenant's hours from a time on, the oldest first.
select hour, tool, status, calls, buckets, counts
  from log_hour
 where tenant_id = %(tenant_id)s::bigint
   and hour >= %(since)s::timestamptz
 order by hour, tool, status;
