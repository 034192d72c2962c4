-- Remove the sums of the hours from a time on.
delete from log_hour
 where hour >= %(since)s::timestamptz;
