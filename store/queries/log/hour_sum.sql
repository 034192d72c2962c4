-- Sum the calls of the hours from a time on, by tenant. Those that are not done yet are left out.
with counted as (
  select tenant.tenant_id, date_trunc('hour', operation.started_at, 'UTC') as hour, operation.kind as tool,
         operation.status,
         least(greatest(floor(4 * log(2, greatest(operation.duration_ms, 0.001)::numeric)) + 1, 0), 80)::smallint
           as bucket,
         count(*) as calls
    from tenant
    join operation on operation.tenant_id = tenant.tenant_id
                  and operation.started_at >= %(since)s::timestamptz
                  and operation.parent_id is null
                  and operation.status not in ('queued', 'quarantined', 'running')
   group by 1, 2, 3, 4, 5
)
insert into log_hour (tenant_id, hour, tool, status, calls, buckets, counts)
select tenant_id, hour, tool, status, sum(calls), array_agg(bucket order by bucket), array_agg(calls order by bucket)
  from counted
 group by tenant_id, hour, tool, status;
