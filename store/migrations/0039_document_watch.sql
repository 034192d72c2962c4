-- A client that watches a folder says so, and learns whether a sync of the scope is wanted.
alter table document_stat add column wanted_at timestamptz;    -- when somebody last asked the watching clients for a sync
alter table document_root add column watched_until timestamptz; -- a client watches the folder, and says so again before

-- The documents of folders: those of the user, and of the user's projects.
create view my_documents with (security_invoker = true) as
select 'documents/' || case scope.kind when 'documents' then 'user' else 'projects/' || scope.key end || '/' || root.name
         || '/' || document.path as reference,
       case scope.kind when 'project_documents' then scope.key end as project, root.name as root, document.path,
       document.kind, document.title, document.tags, document.text, document.size_bytes,
       encode(document.sha256, 'hex') as sha256, document.changed_at, document.updated_at
  from document
  join document_root as root
    on root.scope_id = document.scope_id
   and root.root_no = document.root_no
  join scope on scope.scope_id = document.scope_id;
