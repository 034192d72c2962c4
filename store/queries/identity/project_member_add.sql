-- Make a user a member. No row when it is one already.
insert into project_member (tenant_id, scope_id, user_id)
values (%(tenant_id)s::bigint, %(scope_id)s::bigint, %(user_id)s::text)
on conflict (scope_id, user_id) do nothing
returning user_id;
