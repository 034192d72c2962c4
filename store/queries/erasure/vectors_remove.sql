-- Remove the vectors of these scopes, and what is known of them. Always one row: how many vectors.
with progress as (
  delete from embedding_progress where scope_id = any (%(scope_ids)s::bigint[])
)
, indexes as (
  delete from embedding_hnsw where scope_id = any (%(scope_ids)s)
)
, vectors as (
  delete from embedding where scope_id = any (%(scope_ids)s)
  returning model
)
select count(*) as vectors
  from vectors;
