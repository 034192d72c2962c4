-- The scopes that changed since they were last embedded by a model, but those where that failed a short while ago and
-- those of tenants that are thrown away: nobody asked for their vectors. Conversations and documents
-- have no changes that are counted: their last chunk tells.
select scope.scope_id
  from scope
  join scope_stat on scope_stat.scope_id = scope.scope_id
  join tenant on tenant.tenant_id = scope.tenant_id
  left join embedding_progress as progress
    on progress.scope_id = scope.scope_id
   and progress.model = %(model)s
 where coalesce(progress.rev, -1)
         < case when scope.kind in ('conversations', 'documents', 'project_documents') then scope_stat.next_chunk_id - 1 else scope.rev end
   and (scope.kind not in ('conversations', 'documents', 'project_documents') or %(conversations)s)
   and tenant.expires_at is null
   and (scope_stat.n > 0 or exists (select from embedding where embedding.scope_id = scope.scope_id))
   and (progress.error is null or progress.at < clock_timestamp() - make_interval(secs => %(failed_before_s)s))
 order by scope.scope_id;
