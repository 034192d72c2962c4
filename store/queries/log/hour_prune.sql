-- Remove the sums of the hours that ended before a time, of one tenant or of all.
delete from log_hour
 where hour + interval '1 hour' <= %(before)s::timestamptz
   and (%(tenant_id)s::bigint is null or tenant_id = %(tenant_id)s);
