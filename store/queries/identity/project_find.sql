-- An open project. No row when there is none.
select scope_id
  from scope
 where tenant_id = %(tenant_id)s::bigint
   and kind = 'project'
   and key = %(slug)s::text
   and closed_at is null;
