-- End an erasure of words; the first time holds.
update word_erasure
   set finished_at = coalesce(finished_at, clock_timestamp()),
       scope_ids = '{}',
       touched = '{}'
 where erasure_id = %(erasure_id)s::text;
