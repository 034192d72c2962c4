-- What there is of each model that has vectors, and of the named one: chunks in all, those with a vector, the sizes of
-- the vectors and of token states, indexes of large scopes, and what embedding failed with last.
select model.model, counted.chunks, counted.embedded, sized.size_bytes, sized.dimensions,
       states.texts as state_texts, states.size_bytes as state_bytes,
       (select count(*) from embedding_hnsw where embedding_hnsw.model = model.model) as indexes,
       failed.scopes as failed_scopes, failed.error, failed.at as failed_at
  from (select distinct embedding.model
          from embedding
         union
        select %(model)s::text
         where %(model)s::text is not null) as model
 cross join lateral (
        select count(*) as chunks, count(embedding.text_sha256) as embedded
          from chunk
          join scope
            on scope.scope_id = chunk.scope_id
           and (scope.kind not in ('conversations', 'documents', 'project_documents') or %(conversations)s)
          left join embedding
            on embedding.scope_id = chunk.scope_id
           and embedding.model = model.model
           and embedding.text_sha256 = chunk.sha256) as counted
 cross join lateral (
        select coalesce(sum(pg_column_size(vector)), 0)::bigint as size_bytes, max(vector_dims(vector)) as dimensions
          from embedding
         where embedding.model = model.model) as sized
 cross join lateral (
        select (select count(*) from token_state where token_state.model = model.model) as texts,
               coalesce(sum(pg_column_size(signs)), 0)::bigint as size_bytes
          from (select signs from token_state where token_state.model = model.model
                 union all
                select signs from statement_state where statement_state.model = model.model) as kept) as states
 cross join lateral (
        select count(*) as scopes, max(at) as at, (array_agg(error order by at desc))[1] as error
          from embedding_progress
         where embedding_progress.model = model.model
           and embedding_progress.error is not null) as failed
 order by model.model;
