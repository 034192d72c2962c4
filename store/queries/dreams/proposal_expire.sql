-- Say of proposals that they are too old to be decided about. No rows.
update proposal
   set is_expired = true
 where made_at < %(before)s
   and not is_expired;
