-- Passages by root, path, version and span, each with its document. No row comes back for a text that is not stored any more.
-- A document is the first from its path on, as in document_known.
select coalesce(chunk.heading_path, '{}') as heading_path, wanted.start_char, wanted.end_char,
       substr(document.text, wanted.start_char + 1, wanted.end_char - wanted.start_char) as passage,
       document.scope_id, root.name as root, document.owner, document.path, document.version, document.kind,
       document.title, document.tags, document.sha256, document.size_bytes, document.changed_at, document.updated_at
  from unnest(%(roots)s::text[], %(paths)s::text[], %(versions)s::integer[], %(starts)s::integer[],
              %(ends)s::integer[])
       as wanted (root, path, version, start_char, end_char)
 cross join lateral (
        select *
          from document_root
         where document_root.scope_id = %(scope_id)s
           and document_root.name = wanted.root
        offset 0) as root
 cross join lateral (
        select *
          from document
         where document.scope_id = %(scope_id)s
           and document.root_no = root.root_no
           and document.path >= wanted.path
         order by document.path
         limit 1) as document
  left join lateral (
        select chunk.heading_path
          from chunk
         where chunk.scope_id = %(scope_id)s
           and chunk.file_id = document.document_id
           and chunk.start_char <= wanted.start_char
         order by chunk.start_char desc
         limit 1) as chunk on true
 where document.path = wanted.path
   and document.version = wanted.version;
