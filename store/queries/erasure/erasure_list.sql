-- The receipts of a tenant, the newest first, before one of them.
select erasure_id, tenant_id, user_id, scope_ids, begun_at, finished_at, counts
  from erasure
 where tenant_id = %(tenant_id)s::bigint
   and (%(before)s::bigint is null or erasure_id < %(before)s)
 order by erasure_id desc
 limit %(limit)s;
