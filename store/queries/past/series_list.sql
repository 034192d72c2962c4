-- Files of a scope whose paths began with one of several names after its change `rev`, in the order of the names and
-- then of their paths, without their text. At a moment at most one stands at a path.
select standing.path, standing.version, standing.size_chars, standing.title, standing.tags, standing.created_at
  from unnest(%(names)s::text[]) with ordinality as series (name, place)
 cross join lateral (
       select path, version, size_chars, title, tags, created_at
         from revision
        where scope_id = %(scope_id)s
          and path >= series.name
          and path < series.name || repeat(chr(1114111), 512)
          and rev <= %(rev)s
          and (rev_end is null or rev_end > %(rev)s)
          and not deleted
        order by path
        limit %(limit)s
       ) as standing
 order by series.place, standing.path;
