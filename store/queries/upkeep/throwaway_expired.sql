-- One throw-away tenant whose lifetime is over and that nobody else removes, locked. No row when there is none.
select tenant_id
  from tenant
 where expires_at < clock_timestamp()
 order by tenant_id
 limit 1
   for update skip locked;
