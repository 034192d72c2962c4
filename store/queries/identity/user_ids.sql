-- The ids of a tenant's users.
select key as user_id
  from scope
 where tenant_id = %(tenant_id)s::bigint
   and kind = 'user'
 order by key;
