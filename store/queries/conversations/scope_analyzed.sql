-- Note what made the index of a scope. No rows.
update scope
   set analyzer = %(analyzer)s
 where scope_id = %(scope_id)s
   and analyzer is distinct from %(analyzer)s;
