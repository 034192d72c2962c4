-- How many calls wait in the queue, and how many were given up, over all tenants. For maintenance.
select status, count(*) as calls
  from operation
 where parent_id is null
   and status in ('queued', 'quarantined')
 group by status;
