-- Wait for the writer of a scope, and let no other one begin. No row when the scope is gone.
select scope_id
  from scope_stat
 where scope_id = %(scope_id)s::bigint
   for update;
