-- For whom the newest calls of these tenants were made, a row a user with the newest of its calls. Of each tenant, at most
-- 200 calls are looked at.
select newest.tenant_id, newest.user_id, max(newest.operation_id) as operation_id
  from unnest(%(tenant_ids)s::bigint[]) as wanted (tenant_id)
 cross join lateral (
        select operation.tenant_id, operation.user_id, operation.operation_id
          from operation
         where operation.tenant_id = wanted.tenant_id
           and operation.parent_id is null
         order by operation.started_at desc
         limit 200) as newest
 group by newest.tenant_id, newest.user_id;
