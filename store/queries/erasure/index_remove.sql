-- Remove what is derived from the files of these scopes, their conversations without the messages, the roots of their
-- documents, and what a call left in their logs. Always one row, of what was removed.
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
, events as (
  delete from event where scope_id = any (%(scope_ids)s)
)
, imports as (
  delete from conversation_import where scope_id = any (%(scope_ids)s)
)
, observations as (
  delete from observation where scope_id = any (%(scope_ids)s)
)
, derived as (
  delete from work_derived where scope_id = any (%(scope_ids)s)
)
, answers as (
  delete from work_answer where scope_id = any (%(scope_ids)s)
)
, marks as (
  delete from work_mark where scope_id = any (%(scope_ids)s)
)
, citations as (
  delete from citation where scope_id = any (%(scope_ids)s)
)
, distilled_parts as (
  delete from distilled where scope_id = any (%(scope_ids)s)
)
, progress as (
  delete from token_progress where scope_id = any (%(scope_ids)s)
)
, states as (
  delete from token_state where scope_id = any (%(scope_ids)s)
)
, stated as (
  delete from statement where scope_id = any (%(scope_ids)s) or entry_scope = any (%(scope_ids)s)
)
, rivals as (
  delete from rival
   where scope_id = any (%(scope_ids)s) or older_scope = any (%(scope_ids)s) or newer_scope = any (%(scope_ids)s)
)
, tombstones as (
  delete from tombstone where scope_id = any (%(scope_ids)s)
)
, retold as (
  delete from told_again where scope_id = any (%(scope_ids)s)
)
, dreams as (
  delete from dream where scope_id = any (%(scope_ids)s)
)
, proposals as (
  delete from proposal where scope_id = any (%(scope_ids)s)
)
, proposed as (
  delete from proposal_edit where scope_id = any (%(scope_ids)s)
)
, statements as (
  delete from statement_state where scope_id = any (%(scope_ids)s)
)
, links_of_labels as (
  delete from work_link where scope_id = any (%(scope_ids)s)
)
, document_roots as (
  delete from document_root where scope_id = any (%(scope_ids)s)
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
