-- The jobs of a tenant in the background, by kind and status.
select job.task_name as kind, job.status::text as status, count(*) as jobs
  from procrastinate.procrastinate_jobs job
  join scope on scope.scope_id = (job.args ->> 'scope_id')::bigint
 where scope.tenant_id = %(tenant_id)s::bigint
 group by 1, 2
 order by 1, 2;
