-- The scopes that have texts to be embedded, or vectors that may have to go; not those of tenants that are thrown away,
-- nor scopes of conversations and documents unless they are asked for.
select scope_stat.scope_id
  from scope_stat
  join scope on scope.scope_id = scope_stat.scope_id and (scope.kind not in ('conversations', 'documents', 'project_documents') or %(conversations)s)
  join tenant on tenant.tenant_id = scope_stat.tenant_id
 where tenant.expires_at is null
   and (scope_stat.n > 0
        or exists (select from embedding where embedding.scope_id = scope_stat.scope_id))
 order by scope_stat.scope_id;
