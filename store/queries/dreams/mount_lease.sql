-- Take the lease of a mount for a dream that begins. No row comes back if another one has it, or began one lately.
update dream
   set lease = %(lease)s,
       lease_until = %(until)s,
       dreamt_at = %(now)s
 where scope_id = %(scope_id)s
   and mode <> 'off'
   and (lease_until is null or lease_until <= %(now)s)
   and (dreamt_at is null or dreamt_at <= %(dreamt_before)s)
returning scope_id;
