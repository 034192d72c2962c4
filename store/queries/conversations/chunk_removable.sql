-- The chunks of a conversation, to be taken out of the index.
select chunk.chunk_id, chunk.length, chunk.sha256, cardinality(chunk.lexemes) > 0 or chunk.length = 0 as has_lexemes
  from (select *
          from conversation
         where conversation.scope_id = %(scope_id)s
           and conversation.conversation_id = %(conversation_id)s
        offset 0) as conversation
 cross join lateral (
        select *
          from message
         where message.scope_id = %(scope_id)s
           and message.conversation_no = conversation.conversation_no
        offset 0) as message
 cross join lateral (
        select *
          from chunk
         where chunk.scope_id = %(scope_id)s
           and chunk.file_id = message.message_id
        offset 0) as chunk;
