-- The files of several series of a scope, such as notes.md, notes-2.md, …, as they stood after its change `rev`, without
-- their text: those of each series that had changed last. At a moment at most one stands at a path.
select standing.path, standing.version, standing.size_chars, standing.title, standing.tags, standing.created_at
  from unnest(%(names)s::text[]) with ordinality as series (name, place)
 cross join lateral (
       select path, version, size_chars, title, tags, created_at
         from revision
        where scope_id = %(scope_id)s
          and path >= series.name
          and path < series.name || '/'
          and rev <= %(rev)s
          and (rev_end is null or rev_end > %(rev)s)
          and not deleted
        order by created_at desc, path
        limit %(limit)s
       ) as standing
 order by series.place, standing.path;
