-- The versions of the files that have a path, or had it, under all paths that they had. No row when none ever did.
select path, content
  from revision
 where scope_id = %(scope_id)s::bigint
   and file_id in (select file_id
                     from revision
                    where scope_id = %(scope_id)s::bigint
                      and path = %(path)s::text)
 order by path, version;
