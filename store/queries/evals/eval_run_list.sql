-- The runs of evals that a tenant keeps, the newest first. No row when it keeps none.
select run_id, suite, started_at, document ->> 'planner' as planner,
       jsonb_array_length(document -> 'cases') as cases,
       jsonb_array_length(jsonb_path_query_array(document, '$.cases[*] ? (@.status == "passed" || @.status == "fixed")'))
         as passed,
       jsonb_array_length(jsonb_path_query_array(document, '$.cases[*] ? (@.status == "failed")')) as failed
  from eval_run
 where tenant_id = %(tenant_id)s
 order by started_at desc, run_id desc
 limit %(limit)s;
