-- The first chunks of a scope of conversations after one of them whose texts have no vector of a model, with what they
-- are indexed by. A null `since` is no filter; else messages of no known time are left out.
select chunk.chunk_id, chunk.sha256, conversation.conversation_id, conversation.title, message.number, message.role,
       message.said_at, substr(message.text, chunk.start_char + 1, chunk.end_char - chunk.start_char) as text
  from (select *
          from chunk
         where chunk.scope_id = %(scope_id)s
           and chunk.chunk_id > %(after)s
           and not exists (
                 select
                   from embedding
                  where embedding.scope_id = %(scope_id)s
                    and embedding.model = %(model)s
                    and embedding.text_sha256 = chunk.sha256
                 offset 0)
           and (%(since)s::timestamptz is null
                or exists (
                     select
                       from message
                      where message.scope_id = %(scope_id)s
                        and message.message_id = chunk.file_id
                        and message.said_at >= %(since)s
                     offset 0))
         order by chunk.chunk_id
         limit %(limit)s) as chunk
 cross join lateral (
        select *
          from message
         where message.scope_id = %(scope_id)s
           and message.message_id = chunk.file_id
        offset 0) as message
 cross join lateral (
        select *
          from conversation
         where conversation.scope_id = %(scope_id)s
           and conversation.conversation_no = message.conversation_no
        offset 0) as conversation
 order by chunk.chunk_id;
