-- The words of spans of journal entries, each from the newest version of its entry that shows any of them, in the order in
-- which they were asked for. No row for a span that no stored version shows.
select wanted.path, wanted.start_char, shown.words
  from unnest(%(paths)s::text[], %(starts)s::integer[], %(ends)s::integer[])
         with ordinality as wanted (path, start_char, end_char, place)
 cross join lateral (
        select substring(revision.content from wanted.start_char + 1 for wanted.end_char - wanted.start_char) as words
          from revision
         where revision.scope_id = %(scope_id)s
           and revision.path = wanted.path
           and revision.origin is not null
           and not revision.deleted
           and substring(revision.content from wanted.start_char + 1 for wanted.end_char - wanted.start_char) ~ '\S'
         order by revision.version desc
         limit 1) as shown
 order by wanted.place;
