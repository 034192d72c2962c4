-- Of which of these confirmed previews the erasure ended in this database.
select token
  from word_erasure
 where token = any (%(tokens)s::text[])
   and finished_at is not null;
