-- How many calls wait in the queue of one log, counted up to a bound.
select count(*) as queued
  from (select
          from operation
         where tenant_id = %(tenant_id)s
           and scope_id = %(scope_id)s
           and parent_id is null
           and status = 'queued'
         limit %(bound)s) as waiting;
