-- The files of several series of these scopes, such as notes.md, notes-2.md, …, without their text: those of each series
-- that changed last. All of them stand before the folder of that name. They are read in the order
-- of their paths: without statistics, another index of heads would seem as good, and read the whole scope.
select searched.scope_id, standing.path, standing.version, standing.size_chars, standing.title, standing.tags,
       standing.created_at
  from unnest(%(scope_ids)s::bigint[]) with ordinality as searched (scope_id, place)
 cross join unnest(%(names)s::text[]) with ordinality as series (name, place)
 cross join lateral (
       select path, version, size_chars, title, tags, created_at
         from (
              select path, version, size_chars, title, tags, created_at
                from revision
               where scope_id = searched.scope_id
                 and path >= series.name
                 and path < series.name || '/'
                 and rev_end is null
                 and not deleted
               order by path
              ) as of_series
        order by created_at desc, path
        limit %(limit)s
       ) as standing
 order by searched.place, series.place, standing.path;
