-- The files that stand in a scope, and how large each is.
select file_id, octet_length(content) as size_bytes
  from revision
 where scope_id = %(scope_id)s
   and rev_end is null
   and not deleted
 order by file_id;
