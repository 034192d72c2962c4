-- Which of these keys of links lead to files in scopes.
select distinct wanted.key
  from unnest(%(keys)s::text[]) as wanted (key)
  join revision as head
    on head.scope_id = any (%(scope_ids)s::bigint[])
   and head.rev_end is null
   and not head.deleted
   and (head.path_key = wanted.key or head.name_key = wanted.key);
