-- Make a project, or open it again. A row with `created` true when it was made.
insert into scope (tenant_id, kind, key)
values (%(tenant_id)s::bigint, 'project', %(slug)s::text)
on conflict (tenant_id, kind, key) do update set closed_at = null
returning scope_id, (xmax = 0) as created;
