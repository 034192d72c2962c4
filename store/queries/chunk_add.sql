-- Add chunks. Lexemes, frequencies and headings come as array literals, because their lengths differ.
insert into chunk
  (scope_id, tenant_id, chunk_id, file_id, start_char, end_char, heading_path, sha256, lexemes, tfs, length)
select %(scope_id)s::bigint, %(tenant_id)s::bigint, added.chunk_id, added.file_id, added.start_char, added.end_char,
       added.heading_path::text[], added.sha256, added.lexemes::text[], added.tfs::smallint[], added.length
  from unnest(%(chunk_ids)s::integer[], %(file_ids)s::bigint[], %(starts)s::integer[], %(ends)s::integer[],
              %(heading_paths)s::text[], %(sha256s)s::bytea[], %(lexemes)s::text[], %(tfs)s::text[],
              %(lengths)s::integer[])
       as added (chunk_id, file_id, start_char, end_char, heading_path, sha256, lexemes, tfs, length);
