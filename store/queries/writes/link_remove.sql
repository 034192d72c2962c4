-- Forget the links of these files.
delete from link
 using unnest(%(scope_ids)s::bigint[], %(file_ids)s::bigint[]) as removed (scope_id, file_id)
 where link.scope_id = removed.scope_id
   and link.source_file_id = removed.file_id;
