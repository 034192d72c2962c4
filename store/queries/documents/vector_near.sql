-- Chunks of documents whose texts lie nearest to a vector: those of documents that pass the filters, a null being no filter.
-- Every vector of the scope is measured.
select near.distance, chunk.chunk_id, chunk.start_char, chunk.end_char, document.document_id, root.name, document.path
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
          from document
         where document.scope_id = %(scope_id)s
           and document.document_id = chunk.file_id
        offset 0) as document
 cross join lateral (
        select *
          from document_root
         where document_root.scope_id = %(scope_id)s
           and document_root.root_no = document.root_no
        offset 0) as root
 where (%(root)s::text is null or root.name = %(root)s)
   and starts_with(document.path, %(prefix)s::text)
   and document.tag_keys @> %(tags)s::text[]
 order by near.distance
 limit %(limit)s;
