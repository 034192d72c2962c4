-- What there is of a model in each scope, those that lack most first.
select tenant.name as tenant, scope.kind, scope.key, counted.chunks, counted.embedded, progress.error,
       progress.at as embedded_at
  from scope
  join tenant on tenant.tenant_id = scope.tenant_id
  join scope_stat on scope_stat.scope_id = scope.scope_id
  left join embedding_progress as progress
    on progress.scope_id = scope.scope_id
   and progress.model = %(model)s
 cross join lateral (
        select count(*) as chunks, count(embedding.text_sha256) as embedded
          from chunk
          left join embedding
            on embedding.scope_id = chunk.scope_id
           and embedding.model = %(model)s
           and embedding.text_sha256 = chunk.sha256
         where chunk.scope_id = scope.scope_id) as counted
 where scope_stat.n > 0
   and (scope.kind not in ('conversations', 'documents', 'project_documents') or %(conversations)s)
 order by counted.embedded - counted.chunks, tenant.name, scope.kind, scope.key
 limit %(limit)s;
