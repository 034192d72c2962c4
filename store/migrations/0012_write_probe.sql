-- Where a readiness probe tries whether the database takes writes.
create table write_probe (
  probe_id  bigint generated always as identity primary key
);
alter table write_probe enable row level security;
alter table write_probe force row level security;
create policy maintains on write_probe
  using ((select acting_as()) = 'owner');
