-- Make a tenant that is thrown away: any process may remove it once its lifetime is over.
insert into tenant (name, expires_at)
values (%(name)s::text, clock_timestamp() + make_interval(secs => %(lifetime_s)s::double precision))
returning tenant_id;
