-- In how many memories of a tenant, and users' conversations, the index was made for each language by each version, and how many passages wait to be
-- merged into it.
select scope.language, scope.analyzer, count(*) as scopes,
       count(*) filter (where scope.kind not in ('conversations', 'documents', 'project_documents')) as memories,
       coalesce(sum(scope_stat.unmerged), 0)::bigint as unmerged
  from scope
  join scope_stat using (scope_id)
 where scope.tenant_id = %(tenant_id)s::bigint
   and scope.kind not in ('admin', 'visitor')
   and (scope.rev > 0 or scope.kind in ('conversations', 'documents', 'project_documents'))
 group by scope.language, scope.analyzer;
