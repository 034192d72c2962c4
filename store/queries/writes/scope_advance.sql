-- Count one more change of each scope, at a time never earlier than the last one's; the first says what indexes it.
update scope
   set rev = scope.rev + 1,
       last_at = greatest(clock_timestamp(), scope.last_at),
       analyzer = coalesce(scope.analyzer, advanced.analyzer)
  from unnest(%(scope_ids)s::bigint[], %(analyzers)s::text[]) as advanced (scope_id, analyzer)
 where scope.scope_id = advanced.scope_id;
