-- A run of evals by its name. No row when the tenant has none of that name.
select document
  from eval_run
 where tenant_id = %(tenant_id)s
   and run_id = %(run_id)s;
