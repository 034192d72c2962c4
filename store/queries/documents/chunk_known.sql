-- The chunks of documents, in the order of each text.
select chunk.file_id as document_id, chunk.chunk_id, chunk.start_char, chunk.end_char, chunk.heading_path, chunk.sha256,
       chunk.length
  from unnest(%(document_ids)s::bigint[]) as wanted (document_id)
 cross join lateral (
        select *
          from chunk
         where chunk.scope_id = %(scope_id)s
           and chunk.file_id = wanted.document_id
        offset 0) as chunk
 order by chunk.file_id, chunk.start_char;
