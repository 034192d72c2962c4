-- The scopes whose logs hold questions about a mount: its user's, those of its members, or those of all users.
select asker.scope_id
  from scope as mount
  join scope as asker
    on asker.tenant_id = mount.tenant_id
   and asker.kind in ('user', 'admin')
 where mount.scope_id = %(scope_id)s
   and (mount.kind = 'shared' or asker.kind = 'admin' or asker.scope_id = mount.scope_id
        or (mount.kind = 'project' and exists (
              select
                from project_member
               where project_member.scope_id = mount.scope_id
                 and project_member.user_id = asker.key)))
 limit 1000;
