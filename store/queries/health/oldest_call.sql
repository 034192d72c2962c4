-- When the oldest call of a tenant's log was made; null in an empty log.
select min(started_at) as oldest_at
  from operation
 where tenant_id = %(tenant_id)s::bigint
   and parent_id is null;
