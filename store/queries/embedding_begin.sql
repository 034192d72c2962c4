-- How many changes a scope has seen. No row when it is gone.
select rev
  from scope
 where scope_id = %(scope_id)s;
