-- The users of a tenant whose logs have calls of memory_remember, or the one of these who is named, in their order.
select scope.scope_id, scope.tenant_id, scope.key as user_id
  from scope
 where scope.tenant_id = %(tenant_id)s
   and scope.kind = 'user'
   and (%(user_id)s::text is null or scope.key = %(user_id)s::text)
   and exists (
         select
           from operation
          where operation.scope_id = scope.scope_id
            and operation.parent_id is null
            and operation.kind = 'memory_remember'
            and operation.status = 'committed')
 order by scope.key;
