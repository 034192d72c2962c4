-- How many files stand in each of these scopes, and when something there last changed; null where nothing ever did.
-- Both are kept with the scope, so that no file is read.
select scope.scope_id, coalesce(stat.files, 0) as files, nullif(scope.last_at, '-infinity') as updated_at
  from scope
  left join scope_stat stat
    on stat.scope_id = scope.scope_id
 where scope.scope_id = any (%(scope_ids)s::bigint[]);
