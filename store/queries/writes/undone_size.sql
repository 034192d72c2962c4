-- How many characters some revisions hold, by path@version. There is always one row.
select coalesce(sum(stored.size_chars), 0)::bigint as chars
  from unnest(%(scope_ids)s::bigint[], %(paths)s::text[], %(versions)s::integer[])
       as wanted (scope_id, path, version)
 cross join lateral (
        select size_chars
          from revision
         where revision.scope_id = wanted.scope_id
           and revision.path = wanted.path
           and revision.version = wanted.version
        offset 0) as stored;
