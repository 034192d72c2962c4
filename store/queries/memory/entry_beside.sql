-- For entries of a journal, those told before and after each on the same day, up to `reach` on either side, as the
-- journal stood after the change `rev`; where a project is named, of those that were told about it or about none. A
-- day is the first 18 characters of a path, such as journal/2026-11-27.
select wanted.path, beside.path as beside, beside.size_chars, beside.distance
  from unnest(%(paths)s::text[]) as wanted (path)
 cross join lateral (
        (select entry.path, entry.size_chars, row_number() over (order by entry.path desc) as distance
           from revision entry
          where entry.scope_id = %(scope_id)s
            and entry.path < wanted.path
            and entry.path >= left(wanted.path, 18)
            and entry.origin is not null
            and (%(about)s::text is null or entry.about is null or entry.about = %(about)s)
            and entry.rev <= %(rev)s
            and (entry.rev_end is null or entry.rev_end > %(rev)s)
            and not entry.deleted
          order by entry.path desc
          limit %(reach)s)
        union all
        (select entry.path, entry.size_chars, row_number() over (order by entry.path) as distance
           from revision entry
          where entry.scope_id = %(scope_id)s
            and entry.path > wanted.path
            and entry.path < left(wanted.path, 18) || '0'
            and entry.origin is not null
            and (%(about)s::text is null or entry.about is null or entry.about = %(about)s)
            and entry.rev <= %(rev)s
            and (entry.rev_end is null or entry.rev_end > %(rev)s)
            and not entry.deleted
          order by entry.path
          limit %(reach)s)) as beside
 order by wanted.path, beside.path;
