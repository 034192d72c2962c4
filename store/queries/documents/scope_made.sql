-- The language of a scope, and how often its index was made anew.
select language, rebuilds
  from scope
 where scope_id = %(scope_id)s;
