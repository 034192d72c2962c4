-- Whether there is such a user: one who has written, or who is a member of a project. No row when there is none.
select
  from scope
 where tenant_id = %(tenant_id)s::bigint
   and kind = 'user'
   and key = %(user_id)s::text
union all
select
  from project_member
 where tenant_id = %(tenant_id)s::bigint
   and user_id = %(user_id)s::text
 limit 1;
