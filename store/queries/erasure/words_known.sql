-- Which of these erasures ended in this database.
select erasure_id
  from word_erasure
 where erasure_id = any (%(erasure_ids)s::text[])
   and finished_at is not null;
