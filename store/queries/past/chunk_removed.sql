-- The chunks that files have now.
select chunk.chunk_id, chunk.length
  from unnest(%(file_ids)s::bigint[]) as changed (file_id)
 cross join lateral (
        select *
          from chunk
         where chunk.scope_id = %(scope_id)s
           and chunk.file_id = changed.file_id
        offset 0) as chunk;
