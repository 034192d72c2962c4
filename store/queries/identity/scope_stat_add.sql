-- Give a scope its counters, and with them its lock.
insert into scope_stat (scope_id, tenant_id)
values (%(scope_id)s::bigint, %(tenant_id)s::bigint)
on conflict (scope_id) do nothing;
