-- All versions of the files of these scopes, by path, locked.
select revision.tableoid::bigint as place_table, revision.ctid::text as ctid, revision.scope_id, scope.kind, scope.key, revision.file_id, revision.path,
       revision.version, revision.content, revision.counterpart, revision.reason, revision.deleted,
       revision.origin is not null as is_entry
  from revision
  join scope on scope.scope_id = revision.scope_id
 where revision.scope_id = any (%(scope_ids)s::bigint[])
 order by revision.scope_id, revision.path, revision.version
   for update of revision;
