-- Remove what is derived from the files of a scope, and what a call left in its log. Always one row, of what was removed.
with links as (
  delete from link where scope_id = %(scope_id)s::bigint
)
, removed as (
  delete from chunk_removed where scope_id = %(scope_id)s
)
, postings as (
  delete from posting where scope_id = %(scope_id)s
)
, operations as (
  delete from operation where scope_id = %(scope_id)s
)
, chunks as (
  delete from chunk where scope_id = %(scope_id)s
  returning chunk_id
)
select count(*) as passages
  from chunks;
