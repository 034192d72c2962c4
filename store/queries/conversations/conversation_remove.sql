-- Remove a conversation with its messages, and note the digest by which it is known again. The scope's lock is held.
-- No row if it is gone already.
with gone as (
  delete from conversation
   where scope_id = %(scope_id)s
     and conversation_id = %(conversation_id)s
  returning conversation_no, source_id
),
said as (
  delete from message
   using gone
   where message.scope_id = %(scope_id)s
     and message.conversation_no = gone.conversation_no
  returning octet_length(message.text) as text_bytes
),
observed as (
  delete from observation
   using gone
   where observation.scope_id = %(scope_id)s
     and observation.conversation_no = gone.conversation_no
),
derived as (
  delete from work_derived
   using gone
   where work_derived.scope_id = %(scope_id)s
     and work_derived.conversation_no = gone.conversation_no
),
answered as (
  delete from work_answer
   using gone
   where work_answer.scope_id = %(scope_id)s
     and work_answer.conversation_no = gone.conversation_no
),
marked as (
  delete from work_mark
   where scope_id = %(scope_id)s
     and conversation_id = %(conversation_id)s
     and exists (select from gone)
),
counted as (
  update conversation_stat
     set conversations = conversations - 1,
         messages = messages - (select count(*) from said),
         text_bytes = conversation_stat.text_bytes - (select coalesce(sum(text_bytes), 0) from said)
   where scope_id = %(scope_id)s
     and exists (select from gone)
),
reported as (  -- what a coding agent reported of it, with the words that stood in
  delete from event
   where scope_id = %(scope_id)s
     and conversation_id = %(conversation_id)s
),
unmarked as (  -- a bookmark may hold words of the conversation; its file is read again, from its start
  delete from conversation_file
   where scope_id = %(scope_id)s
     and bookmark is not null
     and exists (select from gone)
),
noted as (
  insert into conversation_removed (scope_id, tenant_id, sha256, removed_at, kind)
  select %(scope_id)s, %(tenant_id)s::bigint, %(sha256)s, %(removed_at)s::timestamptz, %(kind)s
    from gone
  on conflict do nothing
)
select (select count(*) from said)::integer as messages,
       (select coalesce(sum(text_bytes), 0) from said)::bigint as text_bytes
  from gone;
