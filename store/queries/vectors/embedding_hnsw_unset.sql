-- Say that a scope has no approximate index any more.
delete from embedding_hnsw
 where scope_id = %(scope_id)s
   and model = %(model)s;
