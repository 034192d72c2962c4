-- How many changes each of these scopes has seen.
select scope_id, rev
  from scope
 where scope_id = any (%(scope_ids)s::bigint[]);
