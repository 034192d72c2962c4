-- Messages of a user's conversations that have one of these numbers, or one of these digests, in their conversation.
select conversation.conversation_id, conversation.title, message.number, message.role, message.text, message.sha256,
       message.said_at
  from unnest(%(conversation_ids)s::text[], %(numbers)s::integer[], %(sha256s)s::bytea[])
       as wanted (conversation_id, number, sha256)
  join conversation
    on conversation.scope_id = %(scope_id)s
   and conversation.conversation_id = wanted.conversation_id
  join message
    on message.scope_id = %(scope_id)s
   and message.conversation_no = conversation.conversation_no
   and (message.number = wanted.number or message.sha256 = wanted.sha256)
 order by conversation.conversation_id, message.number;
