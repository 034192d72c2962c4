-- How many texts an embedder was sent lately, and how long it took: of the newest calls of each tenant.
select coalesce(sum((newest.request ->> 'texts')::bigint), 0)::bigint as texts,
       coalesce(sum(newest.duration_ms), 0)::double precision as duration_ms
  from tenant
 cross join lateral (
         select operation.request, operation.duration_ms, operation.kind, operation.model, operation.status
           from operation
          where operation.tenant_id = tenant.tenant_id
            and operation.parent_id is null
          order by operation.started_at desc
          limit %(newest)s
       ) as newest
 where newest.kind = %(kind)s
   and newest.model = %(model)s
   and newest.status = 'answered';
