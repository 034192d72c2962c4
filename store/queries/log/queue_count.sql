-- How many calls of the whole database are in the queue, and how many were given up.
select count(*) filter (where status = 'queued') as queued,
       count(*) filter (where status = 'quarantined') as quarantined
  from operation
 where parent_id is null
   and status in ('queued', 'quarantined');
