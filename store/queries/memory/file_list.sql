-- Files of a scope in the order of their paths, after one of them, without their text, and without the entries
-- of the journal where nobody asks for them. The end of the range is the last code point as often as a path can hold it.
select path, version, size_chars, title, tags, created_at
  from revision
 where scope_id = %(scope_id)s
   and path > %(after)s
   and path >= %(prefix)s
   and path < %(prefix)s || repeat(chr(1114111), 512)
   and rev_end is null
   and not deleted
   and (%(entries)s or origin is null)
   and (%(about)s::text is null or about is null or about = %(about)s)
 order by path
 limit %(limit)s;
