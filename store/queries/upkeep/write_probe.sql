-- Store a row and remove older ones that nobody else is removing, so no probe waits for another one. No rows.
with removed as (
  delete from write_probe
   where probe_id in (select probe_id from write_probe for update skip locked)
)
insert into write_probe default values;
