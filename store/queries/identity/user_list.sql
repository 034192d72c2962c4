-- A tenant's users in the order of their ids, after one of them.
select scope.key as user_id, scope.created_at, scope_stat.files
  from scope
  join scope_stat on scope_stat.scope_id = scope.scope_id
 where scope.tenant_id = %(tenant_id)s::bigint
   and scope.kind = 'user'
   and scope.key > %(after)s::text
 order by scope.key
 limit %(limit)s;
