-- Passages by the ids of their chunks, each with its document.
select chunk.chunk_id, chunk.heading_path, chunk.start_char, chunk.end_char,
       substr(document.text, chunk.start_char + 1, chunk.end_char - chunk.start_char) as passage,
       document.scope_id, root.name as root, document.owner, document.path, document.version, document.kind,
       document.title, document.tags, document.sha256, document.size_bytes, document.changed_at, document.updated_at
  from unnest(%(chunk_ids)s::integer[]) as wanted (chunk_id)
 cross join lateral (
        select *
          from chunk
         where chunk.scope_id = %(scope_id)s
           and chunk.chunk_id = wanted.chunk_id
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
        offset 0) as root;
