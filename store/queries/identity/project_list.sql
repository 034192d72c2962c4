-- A tenant's open projects with their members.
select scope.key as slug, scope.created_at, scope_stat.files,
       coalesce(array_agg(project_member.user_id order by project_member.user_id)
                  filter (where project_member.user_id is not null), '{}') as members
  from scope
  join scope_stat on scope_stat.scope_id = scope.scope_id
  left join project_member on project_member.scope_id = scope.scope_id
 where scope.tenant_id = %(tenant_id)s::bigint
   and scope.kind = 'project'
   and scope.closed_at is null
 group by scope.scope_id, scope_stat.files
 order by scope.key;
