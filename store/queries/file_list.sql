-- Files of a scope in the order of their paths, after one of them, without their text.
select path, version, size_chars, title, tags, created_at
  from revision
 where scope_id = %(scope_id)s
   and path > %(after)s
   and path >= %(prefix)s
   and path < %(prefix)s || chr(1114111)
   and rev_end is null
   and not deleted
 order by path
 limit %(limit)s;
