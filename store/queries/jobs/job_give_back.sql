-- Put the jobs back that a worker left, and forget the worker. No attempt is counted, since the worker did not crash.
with given_back as (
  update procrastinate_jobs as job
     set status = 'todo',
         scheduled_at = null,
         worker_id = null
   where job.worker_id = %(worker)s
     and job.status = 'doing'
     and not exists (select
                       from procrastinate_jobs as other
                      where other.queueing_lock = job.queueing_lock
                        and other.status = 'todo')
)
delete from procrastinate_workers where id = %(worker)s;
