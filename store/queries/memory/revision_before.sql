-- What a file was before its revision of change `rev`. No row when that made the file.
select *
  from revision
 where scope_id = %(scope_id)s
   and file_id = %(file_id)s
   and rev < %(rev)s
 order by rev desc
 limit 1;
