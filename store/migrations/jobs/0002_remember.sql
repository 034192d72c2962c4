-- Have a call of the queue carried out once this transaction is committed. The job holds its ids and nothing else.
-- Those of a scope are carried out one after the other in the order in which they came, so that of two statements
-- the newer one is the later one.
create function remember_later(scope bigint, operation bigint)
returns void
language plpgsql volatile security definer
set search_path = procrastinate, pg_temp
as $$
begin
  perform procrastinate_defer_jobs_v1(array[
    row('remember', 'remember', 0, 'remember:' || scope, 'remember:' || scope || ':' || operation,
        jsonb_build_object('scope_id', scope, 'operation_id', operation), null)
  ]::procrastinate_job_to_defer_v1[]);
exception
  when unique_violation then null;  -- a job for it waits already
end
$$;

revoke all on function remember_later(bigint, bigint) from public;
