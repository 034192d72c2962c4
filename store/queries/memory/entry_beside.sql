-- For entries of a journal, the paths and lengths of those told before and after each on the same day, up to `reach` on
-- either side; where a project is named, of those that were told about it or about none. A day is the first 18
-- characters of a path, such as journal/2026-11-27. Its bounds are columns, so that the index of paths is read between
-- them; with `origin is not null`, Postgres might read the one of the digests of all entries.
select wanted.path, array_agg(beside.path) as others, array_agg(beside.size_chars) as sizes
  from (select path, left(path, 18) as first, left(path, 18) || '0' as last
          from unnest(%(paths)s::text[]) as one (path)
        offset 0) as wanted
 cross join lateral (
        (select path, size_chars
           from revision
          where scope_id = %(scope_id)s
            and path >= wanted.first
            and path < wanted.path
            and coalesce(origin, '') <> ''
            and (%(about)s::text is null or about is null or about = %(about)s)
            and rev_end is null
            and not deleted
          order by path desc
          limit %(reach)s)
        union all
        (select path, size_chars
           from revision
          where scope_id = %(scope_id)s
            and path > wanted.path
            and path < wanted.last
            and coalesce(origin, '') <> ''
            and (%(about)s::text is null or about is null or about = %(about)s)
            and rev_end is null
            and not deleted
          order by path
          limit %(reach)s)) as beside
 group by wanted.path;
