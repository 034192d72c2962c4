-- How many changes a scope has seen, or the last chunk of conversations and documents, whose it is, and whose log tells what was
-- embedded. No row when it is gone.
select case when scope.kind in ('conversations', 'documents', 'project_documents') then scope_stat.next_chunk_id - 1 else scope.rev end as rev,
       scope.kind, scope.key, coalesce(own.scope_id, scope.scope_id) as log_scope_id
  from scope
  join scope_stat on scope_stat.scope_id = scope.scope_id
  left join scope as own
    on scope.kind in ('conversations', 'documents', 'project_documents')
   and own.tenant_id = scope.tenant_id
   and own.kind = case scope.kind when 'project_documents' then 'project' else 'user' end
   and own.key = scope.key
 where scope.scope_id = %(scope_id)s;
