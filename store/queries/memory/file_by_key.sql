-- The files that a link's key can mean: by their whole path or by their name alone.
select scope_id, file_id, path, path_key, name_key
  from revision
 where scope_id = any (%(scope_ids)s::bigint[])
   and path_key = any (%(path_keys)s::text[])
   and rev_end is null
   and not deleted
union
select scope_id, file_id, path, path_key, name_key
  from revision
 where scope_id = any (%(scope_ids)s::bigint[])
   and name_key = any (%(name_keys)s::text[])
   and rev_end is null
   and not deleted;
