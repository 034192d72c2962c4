-- Let a project read from another one. No row if it does already, or if it reads from `max_readings` projects.
insert into project_reading (scope_id, tenant_id, read_scope_id, added_at)
select %(scope_id)s, %(tenant_id)s, %(read_scope_id)s, %(added_at)s::timestamptz
 where (select count(*) from project_reading where scope_id = %(scope_id)s) < %(max_readings)s::integer
on conflict do nothing
returning read_scope_id;
