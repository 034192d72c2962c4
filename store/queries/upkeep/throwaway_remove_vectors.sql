-- Remove the vectors of scopes, and what is known of them.
with progress as (delete from embedding_progress where scope_id = any (%(scope_ids)s::bigint[])),
     indexes as (delete from embedding_hnsw where scope_id = any (%(scope_ids)s::bigint[]))
delete from embedding
 where scope_id = any (%(scope_ids)s::bigint[]);
