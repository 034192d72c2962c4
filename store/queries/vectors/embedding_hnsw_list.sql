-- Which of these scopes have an approximate index for vectors of a model.
select scope_id, dimensions
  from embedding_hnsw
 where scope_id = any (%(scope_ids)s::bigint[])
   and model = %(model)s;
