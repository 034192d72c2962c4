-- How many entries of a journal stand in each month (7 characters, such as 2026-11) or on each day (10), in their order;
-- only of paths that begin with `prefix`.
select substr(path, 9, %(chars)s) as period, count(*) as entries
  from revision
 where scope_id = %(scope_id)s
   and path >= %(prefix)s
   and path < %(prefix)s || repeat(chr(1114111), 512)
   and origin is not null
   and rev_end is null
   and not deleted
 group by 1
 order by 1;
