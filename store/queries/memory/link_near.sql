-- Links of the files that stand at these paths, those that stand in the texts given with them, in their order, each with
-- all its sides. After the links, in rows without a place, the files that they can mean: by
-- their whole path, with or without its mount, or by their name alone, in which no slash stands. The texts are sent in
-- the binary format, because psycopg would look for marks to escape in each of them otherwise. Look-ups are ranges in the
-- order of one index: without statistics, another index of heads would seem as good, and read the whole scope.
with near as materialized (
  select wanted.place, near.ordinal, near.anchor, near.target_keys
    from unnest(%(scope_ids)s::bigint[], %(paths)s::text[], %(texts)b::text[])
           with ordinality as wanted (scope_id, path, text, place)
   cross join lateral (
          select revision.file_id, revision.path
            from revision
           where revision.scope_id = wanted.scope_id
             and revision.path >= wanted.path
             and revision.rev_end is null
             and not revision.deleted
           order by revision.path
           limit 1) as head
   cross join lateral (
          select link.ordinal, link.raw, link.anchor, array_agg(link.target_key order by link.side) as target_keys
            from link
           where link.scope_id = wanted.scope_id
             and link.source_file_id = head.file_id
             and strpos(wanted.text, link.raw) > 0
           group by link.ordinal, link.raw, link.anchor
           order by link.ordinal
           limit %(limit)s) as near
   where head.path = wanted.path
)
, key as materialized (
  select distinct unnest(target_keys) as name
    from near
)
, path as materialized (
  select name
    from key
  union
  select substr(key.name, length(mount.name) + 2)
    from key
    join unnest(%(mounts)s::text[]) as mount (name)
      on starts_with(key.name, mount.name || '/')
)
, meant as (
  select found.*
    from unnest(%(all_scope_ids)s::bigint[]) as searched (scope_id)
   cross join path
   cross join lateral (
          select scope_id, file_id, path, path_key, name_key
            from revision
           where revision.scope_id = searched.scope_id
             and revision.path_key >= path.name
             and revision.path_key <= path.name
             and revision.rev_end is null
             and not revision.deleted
           order by revision.path_key) as found
  union
  select found.*
    from unnest(%(all_scope_ids)s::bigint[]) as searched (scope_id)
    join key
      on position('/' in key.name) = 0
   cross join lateral (
          select scope_id, file_id, path, path_key, name_key
            from revision
           where revision.scope_id = searched.scope_id
             and revision.name_key >= key.name
             and revision.name_key <= key.name
             and revision.rev_end is null
             and not revision.deleted
           order by revision.name_key) as found
)
select place, ordinal, anchor, target_keys, null::bigint as scope_id, null::bigint as file_id,
       null::text as path, null::text as path_key, null::text as name_key
  from near
union all
select null, null, null, null, scope_id, file_id, path, path_key, name_key
  from meant
 order by place, ordinal;
