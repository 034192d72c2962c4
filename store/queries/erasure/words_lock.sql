-- Lock the row of an erasure of words: of those who carry one out, one works at a time.
select erasure_id
  from word_erasure
 where erasure_id = %(erasure_id)s::text
   for update;
