-- What BM25 needs to know of each scope, and how many changes it has seen.
select scope_stat.scope_id, scope_stat.n, scope_stat.total_length, scope.rev
  from scope_stat
  join scope on scope.scope_id = scope_stat.scope_id
 where scope_stat.scope_id = any (%(scope_ids)s::bigint[]);
