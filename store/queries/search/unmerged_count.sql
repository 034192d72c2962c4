-- How many chunks of scopes were added or removed since their last merge.
select coalesce(sum(unmerged), 0)::integer as unmerged
  from scope_stat
 where scope_id = any (%(scope_ids)s::bigint[]);
