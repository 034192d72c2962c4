-- The first chunks of a scope after one of them whose texts have no vector of a model, or with `states` no token states:
-- the files, with how far this looked and the digests that are wanted. `content` is null for a file that is gone meanwhile.
with missing as (
  select chunk.chunk_id, chunk.file_id, chunk.sha256
    from chunk
   where chunk.scope_id = %(scope_id)s
     and chunk.chunk_id > %(after)s
     and (not exists (
            select
              from embedding
             where embedding.scope_id = %(scope_id)s
               and embedding.model = %(model)s
               and embedding.text_sha256 = chunk.sha256
            offset 0)
          or %(states)s
             and not exists (
                   select
                     from token_state
                    where token_state.scope_id = %(scope_id)s
                      and token_state.model = %(model)s
                      and token_state.text_sha256 = chunk.sha256
                   offset 0))
   order by chunk.chunk_id
   limit %(limit)s
)
select wanted.file_id, wanted.last_chunk_id, wanted.sha256s, head.version, head.path, head.content
  from (select file_id, max(chunk_id) as last_chunk_id, array_agg(distinct sha256) as sha256s
          from missing
         group by file_id) as wanted
  left join lateral (
        select version, path, content
          from revision
         where revision.scope_id = %(scope_id)s
           and revision.file_id = wanted.file_id
           and revision.rev_end is null
        offset 0) as head on true
 order by wanted.last_chunk_id;
