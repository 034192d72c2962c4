-- When an event of each program came last, and how many of its events are stored, by the program. No row when none came.
select runtime, count(*) as events, count(distinct session) as sessions, max(received_at) as last_at
  from event
 where scope_id = %(scope_id)s
 group by runtime
 order by runtime;
