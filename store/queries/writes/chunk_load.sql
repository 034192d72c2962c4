-- The chunks of the files that stand at these paths, without their lexemes. `offset 0` keeps each look-up by its key,
-- also by a plan that was made while the tables were empty.
select chunk.scope_id, chunk.file_id, chunk.chunk_id, chunk.start_char, chunk.end_char, chunk.heading_path,
       chunk.sha256, chunk.length
  from unnest(%(scope_ids)s::bigint[], %(paths)s::text[]) as wanted (scope_id, path)
 cross join lateral (
        select *
          from revision
         where revision.scope_id = wanted.scope_id
           and revision.path = wanted.path
           and revision.rev_end is null
           and not revision.deleted
        offset 0) as head
 cross join lateral (
        select *
          from chunk
         where chunk.scope_id = head.scope_id
           and chunk.file_id = head.file_id
        offset 0) as chunk
 order by chunk.scope_id, chunk.chunk_id;
