-- How many changes each of these scopes has seen, and how it is indexed.
select scope_id, rev, language, rebuilds
  from scope
 where scope_id = any (%(scope_ids)s::bigint[]);
