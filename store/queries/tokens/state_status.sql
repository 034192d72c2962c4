-- What there is of each model that has token states, and of the named one, in a database without vectors: chunks of files,
-- those with states, and what failed last.
select model.model, null::integer as dimensions, counted.chunks, counted.embedded, 0::bigint as size_bytes,
       states.texts as state_texts, states.size_bytes as state_bytes, 0::bigint as indexes,
       failed.scopes as failed_scopes, failed.error, failed.at as failed_at
  from (select distinct token_state.model
          from token_state
         union
        select %(model)s::text
         where %(model)s::text is not null) as model
 cross join lateral (
        select count(*) as chunks, count(token_state.text_sha256) as embedded
          from chunk
          join scope
            on scope.scope_id = chunk.scope_id
           and scope.kind not in ('conversations', 'documents', 'project_documents')
          left join token_state
            on token_state.scope_id = chunk.scope_id
           and token_state.model = model.model
           and token_state.text_sha256 = chunk.sha256) as counted
 cross join lateral (
        select (select count(*) from token_state where token_state.model = model.model) as texts,
               coalesce(sum(pg_column_size(signs)), 0)::bigint as size_bytes
          from (select signs from token_state where token_state.model = model.model
                 union all
                select signs from statement_state where statement_state.model = model.model) as kept) as states
 cross join lateral (
        select count(*) as scopes, max(at) as at, (array_agg(error order by at desc))[1] as error
          from token_progress
         where token_progress.model = model.model
           and token_progress.error is not null) as failed
 order by model.model;
