-- Remove what is derived from the files of these scopes, their conversations without the messages, and what a call left
-- in their logs. Always one row, of what was removed.
with links as (
  delete from link where scope_id = any (%(scope_ids)s::bigint[])
)
, removed as (
  delete from chunk_removed where scope_id = any (%(scope_ids)s)
)
, postings as (
  delete from posting where scope_id = any (%(scope_ids)s)
)
, operations as (
  delete from operation where scope_id = any (%(scope_ids)s)
)
, sources as (
  delete from source where scope_id = any (%(scope_ids)s)
)
, conversations_removed as (
  delete from conversation_removed where scope_id = any (%(scope_ids)s)
)
, files_read as (
  delete from conversation_file where scope_id = any (%(scope_ids)s)
)
, conversations as (
  delete from conversation where scope_id = any (%(scope_ids)s)
  returning conversation_no
)
, chunks as (
  delete from chunk where scope_id = any (%(scope_ids)s)
  returning chunk_id
)
select (select count(*) from chunks) as passages,
       (select count(*) from conversations) as conversations;
