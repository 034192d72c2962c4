-- Files of a scope in the order of their paths, after one of them, without their text. The end of the range is
-- the last code point as often as a path can hold it.
select path, version, size_chars, title, tags, created_at
  from revision
 where scope_id = %(scope_id)s
   and path > %(after)s
   and path >= %(prefix)s
   and path < %(prefix)s || repeat(chr(1114111), 512)
   and rev_end is null
   and not deleted
 order by path
 limit %(limit)s;
