-- The stored vector of the first passage of a message that has one of a model. No row if there is none.
select embedding.vector::text as vector
  from conversation
  join message
    on message.scope_id = conversation.scope_id
   and message.conversation_no = conversation.conversation_no
  join chunk
    on chunk.scope_id = message.scope_id
   and chunk.file_id = message.message_id
  join embedding
    on embedding.scope_id = chunk.scope_id
   and embedding.model = %(model)s
   and embedding.text_sha256 = chunk.sha256
 where conversation.scope_id = %(scope_id)s
   and conversation.conversation_id = %(conversation_id)s
   and message.number = %(number)s::integer
 order by chunk.start_char
 limit 1;
