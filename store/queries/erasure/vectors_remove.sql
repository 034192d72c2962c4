-- Remove the vectors of a scope, and what is known of them. Always one row: how many vectors.
with progress as (
  delete from embedding_progress where scope_id = %(scope_id)s::bigint
)
, indexes as (
  delete from embedding_hnsw where scope_id = %(scope_id)s
)
, vectors as (
  delete from embedding where scope_id = %(scope_id)s
  returning model
)
select count(*) as vectors
  from vectors;
