-- The file that stands at a path now. No row when none does.
select *
  from revision
 where scope_id = %(scope_id)s
   and path = %(path)s
   and rev_end is null
   and not deleted;
