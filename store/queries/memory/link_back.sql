-- The links of which some side has one of these keys, in the order of the scopes and by the file in which they
-- stand, each with all its sides. Each link is looked up by its place: where a file that was just written names one
-- target thousands of times, a plan by statistics would read all of its links for each of them. After the links, in rows
-- without a place, the files that they can mean: by their whole path, with or without its mount, or by their name alone,
-- in which no slash stands. Those are looked up in ranges of one index: without statistics, another index of heads would
-- seem as good, and read the whole scope.
with near as materialized (
  select array_position(%(all_scope_ids)s::bigint[], link.scope_id) as place, link.scope_id, link.source_file_id as file_id,
         head.path, link.ordinal, link.anchor, array_agg(link.target_key order by link.side) as target_keys
    from (select distinct scope_id, source_file_id, ordinal
            from link
           where scope_id = any (%(all_scope_ids)s::bigint[])
             and target_key = any (%(keys)s::text[])) as named
   cross join lateral (
          select *
            from link
           where link.scope_id = named.scope_id
             and link.source_file_id = named.source_file_id
             and link.ordinal = named.ordinal
          offset 0) as link
   cross join lateral (
          select *
            from revision
           where revision.scope_id = named.scope_id
             and revision.file_id = named.source_file_id
             and revision.rev_end is null
          offset 0) as head
   group by link.scope_id, link.source_file_id, link.ordinal, link.raw, link.anchor, head.path
   order by place, head.path, link.ordinal
   limit %(limit)s
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
select place, ordinal, anchor, target_keys, scope_id, file_id, path, null::text as path_key, null::text as name_key
  from near
union all
select null, null, null, null, scope_id, file_id, path, path_key, name_key
  from meant
 order by place, path, ordinal;
