-- The token states of chunks of a scope, and of the only chunks of files at these paths: `path` is null for the former.
-- `is_alone` tells whether a chunk is the only one of its file. Chunks without states of the model have no row.
select wanted.chunk_id, wanted.path, wanted.length, wanted.is_alone, state.signs
  from (select chunk.chunk_id, null::text as path, chunk.length, chunk.sha256,
               not exists (
                 select
                   from chunk as other
                  where other.scope_id = %(scope_id)s
                    and other.file_id = chunk.file_id
                    and other.chunk_id <> chunk.chunk_id
                 offset 0) as is_alone
          from chunk
         where chunk.scope_id = %(scope_id)s
           and chunk.chunk_id = any (%(chunk_ids)s::bigint[])
         union all
        select alone.chunk_id, head.path, alone.length, alone.sha256, true as is_alone
          from unnest(%(paths)s::text[]) as beside (path)
         cross join lateral (
                select *
                  from revision
                 where revision.scope_id = %(scope_id)s
                   and revision.path >= beside.path
                   and revision.rev_end is null
                   and not revision.deleted
                 order by revision.path
                 limit 1) as head
         cross join lateral (
                select found.*, count(*) over () as chunks
                  from (select *
                          from chunk
                         where chunk.scope_id = %(scope_id)s
                           and chunk.file_id = head.file_id
                         limit 2) as found) as alone
         where head.path = beside.path
           and alone.chunks = 1) as wanted
 cross join lateral (
        select *
          from token_state
         where token_state.scope_id = %(scope_id)s
           and token_state.model = %(model)s
           and token_state.text_sha256 = wanted.sha256
           and token_state.dimensions = %(dimensions)s
        offset 0) as state;
