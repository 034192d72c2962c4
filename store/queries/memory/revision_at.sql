-- Every file of a scope as it stood after its change number `rev`, in the order of their paths.
select *
  from (select *
          from revision
         where scope_id = %(scope_id)s
           and rev <= %(rev)s
           and rev_end is null
           and not deleted
        union all
        select *
          from revision
         where scope_id = %(scope_id)s
           and rev <= %(rev)s
           and rev_end > %(rev)s
           and not deleted) as standing
 order by path;
