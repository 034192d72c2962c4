-- The scopes of files, of one tenant or of all, with the mount of each.
select scope_id, case kind when 'project' then 'projects/' || key else kind end as mount
  from scope
 where kind in ('user', 'shared', 'project')
   and (%(tenant_id)s::bigint is null or tenant_id = %(tenant_id)s)
 order by scope_id;
