-- The chunks that begin at these places of files of a scope as they stand. No row for a place where none begins.
select file.path, chunk.start_char, chunk.end_char, chunk.chunk_id, chunk.file_id
  from unnest(%(paths)s::text[], %(starts)s::integer[]) as place (path, start_char)
  join revision file
    on file.scope_id = %(scope_id)s
   and file.path = place.path
   and file.rev_end is null
   and not file.deleted
  join chunk
    on chunk.scope_id = file.scope_id
   and chunk.file_id = file.file_id
   and chunk.start_char = place.start_char;
