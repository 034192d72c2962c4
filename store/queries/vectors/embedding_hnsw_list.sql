-- Which of these scopes have an approximate index for vectors of a model and of so many dimensions.
select scope_id
  from embedding_hnsw
 where scope_id = any (%(scope_ids)s::bigint[])
   and model = %(model)s
   and dimensions = %(dimensions)s;
