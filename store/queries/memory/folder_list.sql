-- The folders right below a folder, by name: how many files stand in each, and when the last of them changed.
select split_part(substr(path, length(%(folder)s) + 1), '/', 1) as name,
       count(*) as files,
       max(created_at) as updated_at
  from revision
 where scope_id = %(scope_id)s
   and path >= %(folder)s
   and path < %(folder)s || repeat(chr(1114111), 512)
   and rev_end is null
   and not deleted
   and position('/' in substr(path, length(%(folder)s) + 1)) > 0
 group by 1
 order by 1
 limit %(limit)s;
