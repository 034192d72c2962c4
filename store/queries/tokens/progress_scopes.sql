-- The scopes of files that have texts, or token states that may have to go; not those of tenants that are thrown away.
select scope_stat.scope_id
  from scope_stat
  join scope
    on scope.scope_id = scope_stat.scope_id
   and scope.kind not in ('conversations', 'documents', 'project_documents')
  join tenant on tenant.tenant_id = scope_stat.tenant_id
 where tenant.expires_at is null
   and (scope_stat.n > 0
        or exists (select from token_state where token_state.scope_id = scope_stat.scope_id))
 order by scope_stat.scope_id;
