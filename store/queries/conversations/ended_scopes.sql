-- The users who have conversations that ended before a time, in the order of tenants and users.
select scope.scope_id, scope.tenant_id, scope.key as user_id
  from scope
 where scope.kind = 'conversations'
   and exists (
         select
           from conversation
          where conversation.scope_id = scope.scope_id
            and conversation.last_at < %(before)s::timestamptz)
 order by scope.tenant_id, scope.key;
