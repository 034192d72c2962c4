-- Keep a run of evals; one of the same name is replaced.
insert into eval_run (tenant_id, run_id, suite, started_at, document)
values (%(tenant_id)s, %(run_id)s, %(suite)s, %(started_at)s, %(document)s)
on conflict (tenant_id, run_id) do update
   set suite = excluded.suite,
       started_at = excluded.started_at,
       document = excluded.document;
