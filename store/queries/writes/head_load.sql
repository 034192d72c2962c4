-- The file that stands at each path now, if any, and the highest version ever stored there: a row a path. Its text
-- is left out where only the version matters.
select wanted.scope_id,
       wanted.path,
       head.file_id,
       head.version,
       case when %(with_content)s then head.content end as content,
       coalesce((select max(stored.version)
                   from revision stored
                  where stored.scope_id = wanted.scope_id
                    and stored.path = wanted.path), 0) as highest
  from unnest(%(scope_ids)s::bigint[], %(paths)s::text[]) as wanted (scope_id, path)
  left join lateral (
        select *
          from revision
         where revision.scope_id = wanted.scope_id
           and revision.path = wanted.path
           and revision.rev_end is null
           and not revision.deleted
        offset 0) as head on true;
