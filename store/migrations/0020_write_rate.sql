-- Writes that are limited over all replicas: when each bucket of a tenant is full again.
create table write_rate (
  tenant_id   bigint not null references tenant on delete cascade,
  name        text collate "C" not null,                -- of the limit, such as writes-user
  holder      text collate "C" not null,                -- the user id, the number of the key, or empty for the tenant
  full_at     timestamptz not null,
  primary key (tenant_id, name, holder)
) with (fillfactor = 50);

alter table write_rate enable row level security;
alter table write_rate force row level security;
create policy maintains on write_rate using ((select acting_as()) = 'owner');

-- Count a write of the acting tenant, and fail if a limit is reached. A bucket's row is locked until the commit, so what
-- others count at the same moment is seen; a transaction that fails counts nothing. SQLSTATE MX005, with JSON.
create function count_write(rates jsonb) returns void
language plpgsql volatile security definer
set search_path = public, pg_temp
as $$
declare
  maintenance text := coalesce(current_setting('memex.maintenance', true), '');
  tenant bigint := public.acting_tenant();
  rate record;
  full_in_s double precision;
  wait_s double precision;
begin
  perform set_config('memex.maintenance', 'on', true);
  for rate in
    select * from jsonb_to_recordset(rates)
      as given (name text, holder text, cost_s double precision, period_s double precision)
  loop
    insert into public.write_rate as bucket (tenant_id, name, holder, full_at)
    values (tenant, rate.name, rate.holder, clock_timestamp() + make_interval(secs => rate.cost_s))
    on conflict (tenant_id, name, holder) do update
       set full_at = greatest(bucket.full_at, clock_timestamp()) + make_interval(secs => rate.cost_s)
    returning extract(epoch from full_at - clock_timestamp()) into full_in_s;
    -- A write that is larger than the bucket waits until the bucket is full. Moments are exact to a microsecond.
    wait_s := least(full_in_s - rate.period_s, full_in_s - rate.cost_s);
    if wait_s > 0.001 then
      raise exception 'a rate of writes is reached' using
        errcode = 'MX005', detail = jsonb_build_object('name', rate.name, 'wait_s', wait_s)::text;
    end if;
  end loop;
  perform set_config('memex.maintenance', maintenance, true);
end
$$;
revoke all on function count_write(jsonb) from public;
