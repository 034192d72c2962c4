-- How many answers of each tool lacked a part, among the newest calls of the last hour: of one tenant, or of each.
select newest.tool, count(*) as answers, count(*) filter (where newest.is_degraded) as degraded
  from tenant
 cross join lateral (
   select operation.kind as tool, operation.status,
          operation.response #>> '{result,degraded}' is not null as is_degraded
     from operation
    where operation.tenant_id = tenant.tenant_id
      and operation.parent_id is null
      and operation.started_at >= now() - interval '1 hour'
    order by operation.started_at desc
    limit %(most)s) newest
 where (%(tenant_id)s::bigint is null or tenant.tenant_id = %(tenant_id)s)
   and newest.status in ('answered', 'committed', 'dry_run')
 group by newest.tool
 order by newest.tool;
