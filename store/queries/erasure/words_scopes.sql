-- The scopes in which words are erased: those of a user, and on request shared files and projects.
select scope_id, kind, key
  from scope
 where tenant_id = %(tenant_id)s::bigint
   and (kind in ('user', 'documents', 'conversations') and key = %(user_id)s::text
        or %(is_wide)s::boolean and kind in ('shared', 'project', 'project_documents'))
 order by scope_id;
