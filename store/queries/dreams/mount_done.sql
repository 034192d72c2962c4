-- Give back the lease of a dream that ended, and note which changes it has seen. No rows.
update dream
   set lease = null,
       lease_until = null,
       seen_rev = greatest(seen_rev, %(seen_rev)s)
 where scope_id = %(scope_id)s
   and lease = %(lease)s;
