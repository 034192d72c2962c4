-- Count one more change of scopes whose lock is held, and in which the commit writes no revision. No rows.
update scope
   set rev = rev + 1,
       last_at = greatest(clock_timestamp(), last_at),
       counted_rev = case when counted_rev = rev then rev + 1 else counted_rev end
 where scope_id = any (%(scope_ids)s::bigint[]);
