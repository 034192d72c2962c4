-- The next chunks of a conversation whose lexemes are not stored, by id, with what they are indexed by: the titles that
-- the conversation has and had, and the text. No row after the last.
select chunk.chunk_id, chunk.sha256, conversation.title, conversation.former_titles, message.role, message.said_at,
       substr(message.text, chunk.start_char + 1, chunk.end_char - chunk.start_char) as text
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
        offset 0) as chunk
 where cardinality(chunk.lexemes) = 0
   and chunk.length > 0
 order by chunk.chunk_id
 limit %(limit)s;
