-- The messages of some conversations that are stored, without their texts.
select conversation.conversation_id, message.message_id, message.number, message.position, message.parent,
       message.on_path, message.provider_id, message.sha256
  from unnest(%(conversation_ids)s::text[]) as wanted (conversation_id)
 cross join lateral (
        select *
          from conversation
         where conversation.scope_id = %(scope_id)s
           and conversation.conversation_id = wanted.conversation_id
        offset 0) as conversation
 cross join lateral (
        select *
          from message
         where message.scope_id = %(scope_id)s
           and message.conversation_no = conversation.conversation_no
        offset 0) as message
 order by conversation.conversation_id, message.number;
