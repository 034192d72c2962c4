-- The earlier texts of 0003 left chunk.pending, which nothing read any more, and did not count rebuilds.
alter table chunk drop column if exists pending;
alter table scope set (fillfactor = 50);
alter table scope add column if not exists rebuilds integer not null default 0;
