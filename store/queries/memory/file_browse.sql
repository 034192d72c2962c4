-- Files of a scope that pass filters, in the order of their paths, after one of them, without their text. A filter
-- that is null lets every file through. Who wrote a file is its actor, or the channel that it came by. A name is the
-- first of a series in the root of the scope: `tasks` names tasks.md, tasks-2.md and so on. With `is_named` false, the
-- files of other names are listed. Entries of the journal are listed where somebody asks for them.
select path, version, size_chars, title, tags, created_at, pinned, coalesce(actor, channel) as actor
  from revision
 where scope_id = %(scope_id)s
   and path > %(after)s
   and path >= %(prefix)s
   and path < %(prefix)s || repeat(chr(1114111), 512)
   and rev_end is null
   and not deleted
   and (%(entries)s or origin is null)
   and (%(tag)s::text is null or tag_keys @> array[%(tag)s::text])
   and (%(actor)s::text is null or coalesce(actor, channel) = %(actor)s)
   and (%(since)s::timestamptz is null or created_at >= %(since)s)
   and (%(until)s::timestamptz is null or created_at < %(until)s)
   and (not %(is_pinned)s or pinned)
   and (%(names)s::text[] is null
        or coalesce(substring(path from '^([a-z]+)(?:-[0-9]+)?\.md$') = any (%(names)s::text[]), false) = %(is_named)s)
 order by path
 limit %(limit)s;
