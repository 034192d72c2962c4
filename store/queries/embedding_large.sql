-- The scopes that have at least so many vectors of a model, with the dimensions that most of those have.
select embedding.scope_id, mode() within group (order by vector_dims(embedding.vector)) as dimensions
  from embedding
 where embedding.model = %(model)s
 group by embedding.scope_id
having count(*) >= %(vectors)s
 order by embedding.scope_id;
