-- Close a project: its members go, its files stay for the day it is opened again. No row when it is not open.
with closed as (
  update scope
     set closed_at = clock_timestamp()
   where tenant_id = %(tenant_id)s::bigint
     and kind = 'project'
     and key = %(slug)s::text
     and closed_at is null
  returning scope_id
),
left_by as (
  delete from project_member
   using closed
   where project_member.scope_id = closed.scope_id
)
select scope_id from closed;
