-- The messages that are stored under the provider's ids of messages, by their conversations: the text of each, null where it
-- is the same one. No row for an id that is not stored.
with wanted as materialized (
  select *
    from unnest(%(conversation_ids)s::text[], %(provider_ids)s::text[], %(sha256s)s::bytea[])
         as wanted (conversation_id, provider_id, sha256)
)
select conversation.conversation_id, message.provider_id, message.on_path,
       case when message.sha256 <> wanted.sha256 then message.text end as text
  from (select distinct conversation_id
          from wanted) as asked
 cross join lateral (
        select *
          from conversation
         where conversation.scope_id = %(scope_id)s
           and conversation.conversation_id = asked.conversation_id
        offset 0) as conversation
 cross join lateral (
        select *
          from message
         where message.scope_id = %(scope_id)s
           and message.conversation_no = conversation.conversation_no
        offset 0) as message
  join wanted
    on wanted.conversation_id = conversation.conversation_id
   and wanted.provider_id = message.provider_id;
