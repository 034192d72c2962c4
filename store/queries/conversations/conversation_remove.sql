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
counted as (
  update conversation_stat
     set conversations = conversations - 1,
         messages = messages - (select count(*) from said),
         text_bytes = conversation_stat.text_bytes - (select coalesce(sum(text_bytes), 0) from said)
   where scope_id = %(scope_id)s
     and exists (select from gone)
),
unmarked as (  -- a bookmark may hold words of the conversation; its file is read again, from its start
  delete from conversation_file
   where scope_id = %(scope_id)s
     and bookmark is not null
     and exists (select from gone)
),
noted as (
  insert into conversation_removed (scope_id, tenant_id, sha256, removed_at)
  select %(scope_id)s, %(tenant_id)s::bigint, %(sha256)s, %(removed_at)s::timestamptz
    from gone
  on conflict do nothing
)
select (select count(*) from said)::integer as messages,
       (select coalesce(sum(text_bytes), 0) from said)::bigint as text_bytes
  from gone;
