-- The folders right below a folder, by name: how many files stand in each, and when the last of them changed. The first
-- row, without a name, is for the folder itself; the name of the files right in it is ''.
select split_part(inside, '/', case when position('/' in inside) > 0 then 1 else 2 end) as name,
       count(*) as files,
       max(created_at) as updated_at
  from (select substr(path, length(%(folder)s) + 1) as inside, created_at
          from revision
         where scope_id = %(scope_id)s
           and path >= %(folder)s
           and path < %(folder)s || repeat(chr(1114111), 512)
           and rev_end is null
           and not deleted) as below
 group by rollup (1)
 order by 1 nulls first
 limit %(limit)s;
