-- How many texts of a tenant wait in the queue, since when, and how many were given up. Always one row.
select count(*) filter (where status = 'queued') as waiting,
       min(now) filter (where status = 'queued') as oldest_at,
       count(*) filter (where status = 'quarantined') as given_up
  from operation
 where tenant_id = %(tenant_id)s::bigint
   and parent_id is null
   and status in ('queued', 'quarantined');
