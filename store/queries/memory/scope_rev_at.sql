-- The number of a scope's last change at or before a time. No row when there was none.
select rev
  from revision
 where scope_id = %(scope_id)s
   and created_at <= %(time)s
 order by rev desc
 limit 1;
