-- How many changes a scope has seen, and whose it is. No row when it is gone.
select rev, kind, key
  from scope
 where scope_id = %(scope_id)s;
