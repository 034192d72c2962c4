-- A tenant's users in the order of their ids, after one of them. The last call is one by the user's agents, or one
-- that an administrator made for the user: the admins' log names the user in each row. `calls` counts those by the
-- user's agents, up to `counted`; `bytes`, of files, messages and documents, is null until the files were counted.
with page as (
  select scope.scope_id, scope.key as user_id, scope.created_at, scope_stat.files,
         case when scope.counted_rev = scope.rev then scope.standing_bytes + evidence.bytes end as bytes
    from scope
    join scope_stat on scope_stat.scope_id = scope.scope_id
   cross join lateral (
         select coalesce(sum(coalesce(conversation_stat.text_bytes, document_stat.text_bytes)), 0)::bigint as bytes
           from scope held
           left join conversation_stat using (scope_id)
           left join document_stat using (scope_id)
          where held.tenant_id = scope.tenant_id
            and held.kind in ('conversations', 'documents')
            and held.key = scope.key) as evidence
   where scope.tenant_id = %(tenant_id)s::bigint
     and scope.kind = 'user'
     and scope.key > %(after)s::text
     and (%(user_id)s::text is null or scope.key = %(user_id)s)
     and position(lower(%(query)s::text) in lower(scope.key)) > 0
   order by scope.key
   limit %(limit)s),
by_admins as (
  select operation.user_id, max(operation.started_at) as last_at
    from scope
    join operation on operation.scope_id = scope.scope_id
   where scope.tenant_id = %(tenant_id)s::bigint
     and scope.kind = 'admin'
     and operation.parent_id is null
     and operation.user_id in (select user_id from page)
   group by operation.user_id)
select page.user_id, page.created_at, page.files, page.bytes, counted.calls,
       greatest(by_agents.last_at, by_admins.last_at) as last_call_at
  from page
  left join lateral (
        select operation.started_at as last_at
          from operation
         where operation.scope_id = page.scope_id
           and operation.parent_id is null
         order by operation.operation_id desc
         limit 1) as by_agents on true
 cross join lateral (
        select count(*) as calls
          from (select
                  from operation
                 where operation.scope_id = page.scope_id
                   and operation.parent_id is null
                 limit %(counted)s) as newest) as counted
  left join by_admins on by_admins.user_id = page.user_id
 order by page.user_id;
