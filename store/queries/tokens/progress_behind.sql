-- The scopes of files that changed since they last got token states of a model, but those where that failed a short while
-- ago and those of tenants that are thrown away.
select scope.scope_id
  from scope
  join scope_stat on scope_stat.scope_id = scope.scope_id
  join tenant on tenant.tenant_id = scope.tenant_id
  left join token_progress as progress
    on progress.scope_id = scope.scope_id
   and progress.model = %(model)s
 where coalesce(progress.rev, -1) < scope.rev
   and scope.kind not in ('conversations', 'documents', 'project_documents')
   and tenant.expires_at is null
   and (scope_stat.n > 0 or exists (select from token_state where token_state.scope_id = scope.scope_id))
   and (progress.error is null or progress.at < clock_timestamp() - make_interval(secs => %(failed_before_s)s))
 order by scope.scope_id;
