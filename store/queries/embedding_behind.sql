-- The scopes that changed since they were last embedded by a model, but those where that failed a short while ago.
select scope.scope_id
  from scope
  join scope_stat on scope_stat.scope_id = scope.scope_id
  left join embedding_progress as progress
    on progress.scope_id = scope.scope_id
   and progress.model = %(model)s
 where coalesce(progress.rev, -1) < scope.rev
   and (scope_stat.n > 0 or exists (select from embedding where embedding.scope_id = scope.scope_id))
   and (progress.error is null or progress.at < clock_timestamp() - make_interval(secs => %(failed_before_s)s))
 order by scope.scope_id;
