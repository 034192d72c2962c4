-- The files that a user's calls wrote, as `path@version` names them, with the path at which each stands now, if it does:
-- user/ is the user's own scope. No row for a version that is gone.
select written.reference, scope.scope_id, revision.file_id, revision.rev, head.path
  from unnest(%(references)s::text[], %(mounts)s::text[], %(paths)s::text[], %(versions)s::integer[])
         as written (reference, mount, path, version)
  join scope
    on scope.tenant_id = %(tenant_id)s
   and case written.mount
         when 'user' then scope.scope_id = %(scope_id)s
         when 'shared' then scope.kind = 'shared'
         else scope.kind = 'project' and scope.key = substr(written.mount, 10)
       end
  join revision
    on revision.scope_id = scope.scope_id
   and revision.path = written.path
   and revision.version = written.version
  left join revision head
    on head.scope_id = revision.scope_id
   and head.file_id = revision.file_id
   and head.rev_end is null
   and not head.deleted;
