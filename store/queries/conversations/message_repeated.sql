-- Which messages other conversations of a kind of source hold: role, digest of the text and time, of the times that are
-- asked for. `but` are the provider's ids of the conversations that are stored now. No row if there is none.
select message.role, message.sha256, message.said_at, conversation.provider_id
  from conversation
  join source
    on source.scope_id = conversation.scope_id
   and source.source_id = conversation.source_id
   and source.kind = %(kind)s
  join message
    on message.scope_id = conversation.scope_id
   and message.conversation_no = conversation.conversation_no
 where conversation.scope_id = %(scope_id)s
   and conversation.first_said_at <= %(until)s
   and conversation.last_said_at >= %(since)s
   and message.said_at between %(since)s and %(until)s
   and message.said_at = any (%(times)s::timestamptz[])
   and message.part = 'message';
