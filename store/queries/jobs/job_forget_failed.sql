-- Remove the jobs of a scope that were given up: it is embedded now.
delete from procrastinate.procrastinate_jobs
 where lock = %(lock)s
   and status = 'failed';
