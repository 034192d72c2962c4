-- Files of a scope whose paths begin with one of several names, in the order of the names and then of their paths,
-- without their text. The end of each range is the last code point as often as a path can hold it.
select standing.path, standing.version, standing.size_chars, standing.title, standing.tags, standing.created_at
  from unnest(%(names)s::text[]) with ordinality as series (name, place)
 cross join lateral (
       select path, version, size_chars, title, tags, created_at
         from revision
        where scope_id = %(scope_id)s
          and path >= series.name
          and path < series.name || repeat(chr(1114111), 512)
          and rev_end is null
          and not deleted
        order by path
        limit %(limit)s
       ) as standing
 order by series.place, standing.path;
