-- The texts of stored versions, in the order in which they were asked for.
select stored.path, stored.version, stored.content, stored.thinned
  from unnest(%(paths)s::text[], %(versions)s::integer[]) with ordinality as wanted (path, version, place)
 cross join lateral (
        select *
          from revision
         where revision.scope_id = %(scope_id)s
           and revision.path = wanted.path
           and revision.version = wanted.version
        offset 0) as stored
 order by wanted.place;
