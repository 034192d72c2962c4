-- As embedding_near without a filter, from the approximate index of one large scope. Its condition must be met word
-- for word for the index to be used, so what stands in braces is filled in instead of passed.
select embedding.vector::halfvec({dimensions}) <=> %(vector)s::halfvec({dimensions}) as distance,
       chunk.chunk_id, chunk.file_id, chunk.start_char, chunk.end_char, head.path
  from embedding
 cross join lateral (
        select *
          from chunk
         where chunk.scope_id = {scope_id}
           and chunk.sha256 = embedding.text_sha256
        offset 0) as chunk
 cross join lateral (
        select *
          from revision
         where revision.scope_id = {scope_id}
           and revision.file_id = chunk.file_id
           and revision.rev_end is null
        offset 0) as head
 where embedding.scope_id = {scope_id}
   and embedding.model = {model}
   and vector_dims(embedding.vector) = {dimensions}
 order by embedding.vector::halfvec({dimensions}) <=> %(vector)s::halfvec({dimensions})
 limit %(limit)s;
