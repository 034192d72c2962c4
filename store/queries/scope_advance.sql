-- Count one more change of each scope, at a time never earlier than the last one's.
update scope
   set rev = rev + 1,
       last_at = greatest(clock_timestamp(), last_at)
 where scope_id = any (%(scope_ids)s::bigint[]);
