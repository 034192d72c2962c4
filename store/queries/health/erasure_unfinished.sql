-- The users of a tenant whose erasure has begun and not ended, the oldest first.
select user_id
  from erasure
 where tenant_id = %(tenant_id)s::bigint
   and finished_at is null
 order by erasure_id
 limit 10;
