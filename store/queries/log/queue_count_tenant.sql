-- How many calls of a tenant are in the queue, and how many were given up. There is always one row.
select count(*) filter (where status = 'queued') as queued,
       count(*) filter (where status = 'quarantined') as quarantined
  from operation
 where tenant_id = %(tenant_id)s
   and parent_id is null
   and status in ('queued', 'quarantined');
