-- The users who have conversations that went on since a time, in the order of tenants and users. No row if nobody has.
select scope.scope_id, scope.tenant_id, scope.key as user_id
  from scope
 where scope.kind = 'conversations'
   and exists (
         select
           from conversation
          where conversation.scope_id = scope.scope_id
            and conversation.last_at >= %(since)s::timestamptz)
 order by scope.tenant_id, scope.key;
