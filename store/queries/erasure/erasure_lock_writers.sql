-- Wait for the writers of these scopes, in the order of their ids, and let no other ones begin. A row for each scope.
select scope_id
  from scope_stat
 where scope_id = any (%(scope_ids)s::bigint[])
 order by scope_id
   for update;
