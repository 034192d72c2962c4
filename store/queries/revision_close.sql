-- Close the open revisions of these files at their scope's current change. A row for each that was open.
update revision
   set rev_end = scope.rev
  from unnest(%(scope_ids)s::bigint[], %(file_ids)s::bigint[], %(versions)s::integer[])
       as closed (scope_id, file_id, version)
  join scope on scope.scope_id = closed.scope_id
 where revision.scope_id = closed.scope_id
   and revision.file_id = closed.file_id
   and revision.version = closed.version
   and revision.rev_end is null
returning revision.file_id;
