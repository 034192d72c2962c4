-- Chunks of messages whose texts lie nearest to a vector, with everything that ties with the last: those of messages that
-- pass the filters, a null being no filter. Every vector of the scope is measured.
select near.distance, chunk.chunk_id, chunk.start_char, chunk.end_char, chunk.length, message.message_id,
       message.conversation_no, message.number, message.position, message.on_path
  from (select embedding.text_sha256, embedding.vector <=> %(vector)s::halfvec as distance
          from embedding
         where embedding.scope_id = %(scope_id)s
           and embedding.model = %(model)s
           and vector_dims(embedding.vector) = %(dimensions)s
         order by distance
        offset 0) as near
 cross join lateral (
        select *
          from chunk
         where chunk.scope_id = %(scope_id)s
           and chunk.sha256 = near.text_sha256
        offset 0) as chunk
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
 cross join lateral (
        select *
          from source
         where source.scope_id = %(scope_id)s
           and source.source_id = conversation.source_id
        offset 0) as source
 where (message.on_path or %(all_branches)s::boolean)
   and (%(source)s::text is null or %(source)s in (source.label, source.kind))
   and (%(project)s::text is null or conversation.project = %(project)s)
   and (%(role)s::text is null or message.role = %(role)s)
   and (not %(human)s::boolean or message.human_authored)
   and (%(since)s::timestamptz is null or message.said_at >= %(since)s)
   and (%(until)s::timestamptz is null or message.said_at < %(until)s)
   and (%(conversation_id)s::text is null or conversation.conversation_id = %(conversation_id)s)
 order by near.distance
 fetch first (%(limit)s::bigint) rows with ties;
