-- The chunks of the files that stand at these paths, without their lexemes.
select chunk.scope_id, chunk.file_id, chunk.chunk_id, chunk.start_char, chunk.end_char, chunk.heading_path,
       chunk.sha256, chunk.length
  from unnest(%(scope_ids)s::bigint[], %(paths)s::text[]) as wanted (scope_id, path)
  join revision head
    on head.scope_id = wanted.scope_id
   and head.path = wanted.path
   and head.rev_end is null
   and not head.deleted
  join chunk
    on chunk.scope_id = head.scope_id
   and chunk.file_id = head.file_id
 order by chunk.scope_id, chunk.chunk_id;
