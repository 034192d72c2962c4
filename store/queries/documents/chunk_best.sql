-- Where chunks stand that scored: those of documents that pass the filters, a null being no filter. In no order.
select scored.score, scored.chunk_id, chunk.start_char, chunk.end_char, document.document_id, root.name, document.path
  from unnest(%(chunk_ids)s::integer[], %(scores)s::bigint[]) as scored (chunk_id, score)
 cross join lateral (
        select *
          from chunk
         where chunk.scope_id = %(scope_id)s
           and chunk.chunk_id = scored.chunk_id
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
   and document.tag_keys @> %(tags)s::text[];
