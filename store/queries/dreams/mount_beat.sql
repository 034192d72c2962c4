-- Keep the lease of a dream that goes on. No row comes back if it is another's by now.
update dream
   set lease_until = %(until)s
 where scope_id = %(scope_id)s
   and lease = %(lease)s
returning scope_id;
