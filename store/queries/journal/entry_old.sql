-- Entries of a journal of days before `before`, such as journal/2026-11-27, in the order of their paths, and whether each
-- stands or is deleted.
select path, bool_or(rev_end is null and not deleted) as stands
  from revision
 where scope_id = %(scope_id)s
   and path >= 'journal/'
   and path < %(before)s
   and origin is not null
 group by path
 order by path
 limit %(limit)s;
