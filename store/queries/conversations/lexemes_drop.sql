-- Forget the lexemes of a scope's chunks, which are in its postings now. The scope's lock is held. No rows.
update chunk
   set lexemes = '{}',
       tfs = '{}'
 where scope_id = %(scope_id)s
   and chunk_id >= %(first_chunk_id)s::integer
   and chunk_id < %(end_chunk_id)s::integer;
