-- The file that stood at a path after a scope's change `rev`. No row when none did.
select *
  from revision
 where scope_id = %(scope_id)s
   and path = %(path)s
   and rev <= %(rev)s
   and (rev_end is null or rev_end > %(rev)s)
   and not deleted
 order by version desc
 limit 1;
