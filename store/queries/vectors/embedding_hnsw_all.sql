-- Every approximate index for vectors of a model.
select scope_id, dimensions
  from embedding_hnsw
 where model = %(model)s
 order by scope_id;
