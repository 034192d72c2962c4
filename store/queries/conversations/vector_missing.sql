-- The chunks of a scope of conversations whose texts have no vector of a model, with what they are indexed by, those of the
-- newest conversations first. A null `since` is no filter; else messages of no known time are left out. No row if none is
-- missing.
select chunk.chunk_id, chunk.sha256, conversation.conversation_id, conversation.title, message.number, message.role,
       message.said_at, substr(message.text, chunk.start_char + 1, chunk.end_char - chunk.start_char) as text
  from conversation
 cross join lateral (
        select *
          from message
         where message.scope_id = %(scope_id)s
           and message.conversation_no = conversation.conversation_no
           and (%(since)s::timestamptz is null or message.said_at >= %(since)s)
        offset 0) as message
 cross join lateral (
        select *
          from chunk
         where chunk.scope_id = %(scope_id)s
           and chunk.file_id = message.message_id
           and not exists (
                 select
                   from embedding
                  where embedding.scope_id = %(scope_id)s
                    and embedding.model = %(model)s
                    and embedding.text_sha256 = chunk.sha256
                 offset 0)
        offset 0) as chunk
 where conversation.scope_id = %(scope_id)s
 order by conversation.last_at desc nulls last, conversation.conversation_no desc, message.number desc
 limit %(limit)s;
