-- The number of a scope's last change at or before a time; 0 when there was none.
select coalesce(max(rev), 0) as rev
  from revision
 where scope_id = %(scope_id)s
   and created_at <= %(time)s;
