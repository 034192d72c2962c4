-- An erasure of words by its id, or by the preview that was confirmed. No row when there is none.
select erasure_id, tenant_id, user_id, is_wide, token, entry, epoch, scope_ids, touched, counts, begun_at, finished_at
  from word_erasure
 where erasure_id = %(key)s::text
    or token = %(key)s::text;
