-- Add chunks. What differs in length comes joined: lexemes and frequencies by spaces, headings by U+001F.
insert into chunk
  (scope_id, tenant_id, chunk_id, file_id, start_char, end_char, heading_path, sha256, lexemes, tfs, length)
select %(scope_id)s::bigint, %(tenant_id)s::bigint, added.chunk_id, added.file_id, added.start_char, added.end_char,
       string_to_array(added.heading_path, chr(31)), added.sha256, string_to_array(added.lexemes, ' '), string_to_array(added.tfs, ' ')::smallint[], added.length
  from unnest(%(chunk_ids)s::integer[], %(file_ids)s::bigint[], %(starts)s::integer[], %(ends)s::integer[],
              %(heading_paths)s::text[], %(sha256s)s::bytea[], %(lexemes)s::text[], %(tfs)s::text[],
              %(lengths)s::integer[])
       as added (chunk_id, file_id, start_char, end_char, heading_path, sha256, lexemes, tfs, length);
