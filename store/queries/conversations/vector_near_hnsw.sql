-- As vector_near, from the approximate index of a large scope, whose scan goes on until enough messages are on the path.
-- Its condition must be met word for word for the index to be used, so what stands in braces is filled in.
select embedding.vector::halfvec({dimensions}) <=> %(vector)s::halfvec({dimensions}) as distance, chunk.chunk_id, chunk.start_char, chunk.end_char, chunk.length, message.message_id,
       message.conversation_no, message.number, message.position, message.on_path
  from embedding
 cross join lateral (
        select *
          from chunk
         where chunk.scope_id = {scope_id}
           and chunk.sha256 = embedding.text_sha256
        offset 0) as chunk
 cross join lateral (
        select *
          from message
         where message.scope_id = {scope_id}
           and message.message_id = chunk.file_id
        offset 0) as message
 cross join lateral (
        select *
          from conversation
         where conversation.scope_id = {scope_id}
           and conversation.conversation_no = message.conversation_no
        offset 0) as conversation
 cross join lateral (
        select *
          from source
         where source.scope_id = {scope_id}
           and source.source_id = conversation.source_id
        offset 0) as source
 where embedding.scope_id = {scope_id}
   and embedding.model = {model}
   and vector_dims(embedding.vector) = {dimensions}
   and (message.on_path or %(all_branches)s::boolean)
 order by embedding.vector::halfvec({dimensions}) <=> %(vector)s::halfvec({dimensions})
 limit %(limit)s;
