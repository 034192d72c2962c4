-- The chunks of a scope of documents whose texts have no vector of a model, each with its document, the beginning of
-- that and what stands above the chunk. No row if none is missing.
select chunk.chunk_id, chunk.sha256, root.name as root, document.path, document.version, document.title,
       chunk.heading_path, left(document.text, 2048) as beginning,
       substr(document.text, chunk.start_char + 1, chunk.end_char - chunk.start_char) as text
  from (select *
          from chunk
         where chunk.scope_id = %(scope_id)s
           and not exists (
                 select
                   from embedding
                  where embedding.scope_id = %(scope_id)s
                    and embedding.model = %(model)s
                    and embedding.text_sha256 = chunk.sha256
                 offset 0)
         order by chunk.chunk_id
         limit %(limit)s) as chunk
  join document
    on document.scope_id = %(scope_id)s
   and document.document_id = chunk.file_id
  join document_root as root
    on root.scope_id = %(scope_id)s
   and root.root_no = document.root_no;
