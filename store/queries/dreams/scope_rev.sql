-- The number of the last change of a scope.
select rev
  from scope
 where scope_id = %(scope_id)s;
