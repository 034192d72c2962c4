-- Whether vectors can be read and compared here; no rows.
select embedding.vector <=> '[1]'::halfvec as distance
  from embedding
 limit 0;
