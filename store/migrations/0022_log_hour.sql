-- The calls of each hour, summed from the log in the background: by tool and status, with a histogram of how long they
-- took. `buckets` and `counts` run in parallel; bucket n holds what took less than 2^(n/4) ms, and no less than the one
-- before it.
create table log_hour (
  tenant_id  bigint not null references tenant on delete cascade,
  hour       timestamptz not null,
  tool       text collate "C" not null,
  status     text not null,
  calls      bigint not null,
  buckets    smallint[] not null,
  counts     integer[] not null,
  primary key (tenant_id, hour, tool, status)
);

alter table log_hour enable row level security;
alter table log_hour force row level security;
create policy reads on log_hour for select
  using (tenant_id = (select acting_tenant()) and (select acting_as()) = 'admin' or (select acting_as()) = 'owner');
create policy maintains on log_hour using ((select acting_as()) = 'owner');
