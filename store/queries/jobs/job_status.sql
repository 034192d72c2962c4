-- How many jobs there are of a kind, by what they do: todo, doing, failed.
select status::text as status, count(*) as jobs
  from procrastinate.procrastinate_jobs
 where task_name = %(task)s
 group by status;
