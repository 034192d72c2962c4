-- Which of these digests of texts conversations of a kind of source hold, and in which role.
select distinct message.role, message.sha256, conversation.provider_id
  from message
  join conversation
    on conversation.scope_id = message.scope_id
   and conversation.conversation_no = message.conversation_no
  join source
    on source.scope_id = conversation.scope_id
   and source.source_id = conversation.source_id
   and source.kind = %(kind)s
 where message.scope_id = %(scope_id)s
   and message.sha256 = any (%(sha256s)s::bytea[])
   and message.part = 'message';
