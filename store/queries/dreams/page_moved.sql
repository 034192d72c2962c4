-- Where files stand now that had one of these keys of paths or names once, in the order of the keys; the newest such place
-- of each file.
select distinct wanted.key, head.path
  from unnest(%(keys)s::text[]) as wanted (key)
  join revision as old
    on old.scope_id = %(scope_id)s
   and old.rev_end is not null
   and (old.path_key = wanted.key or old.name_key = wanted.key)
  join revision as head
    on head.scope_id = old.scope_id
   and head.file_id = old.file_id
   and head.rev_end is null
   and not head.deleted
   and head.path_key <> wanted.key
   and head.name_key <> wanted.key
 order by wanted.key, head.path;
