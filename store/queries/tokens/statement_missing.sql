-- The first chunks, after one of them, of files in some series of a scope whose texts have token states of a model and no
-- statement with states: a file that was moved there, or prose, which has none. The files, as `state_missing` gives them.
with missing as (
  select chunk.chunk_id, chunk.file_id, chunk.sha256, head.version, head.path, head.content
    from unnest(%(names)s::text[]) as series (name)
    join revision as head
      on head.scope_id = %(scope_id)s
     and head.path >= series.name
     and head.path < series.name || '/'
     and head.rev_end is null
     and not head.deleted
    join chunk
      on chunk.scope_id = %(scope_id)s
     and chunk.file_id = head.file_id
     and chunk.chunk_id > %(after)s
   where chunk.sha256 not in (
           select text_sha256
             from statement_state
            where statement_state.scope_id = %(scope_id)s
              and statement_state.model = %(model)s)
     and exists (
           select
             from token_state
            where token_state.scope_id = %(scope_id)s
              and token_state.model = %(model)s
              and token_state.text_sha256 = chunk.sha256
           offset 0)
   order by chunk.chunk_id
   limit %(limit)s
)
select file_id, max(chunk_id) as last_chunk_id, array_agg(distinct sha256) as sha256s, version, path, content
  from missing
 group by file_id, version, path, content
 order by last_chunk_id;
