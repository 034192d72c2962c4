-- Close the open revisions of these files at their scope's current change. A row for each that was open. Each is found
-- by its key and closed at its place (ctid); one that was closed by somebody else meanwhile is at another.
with located as materialized (
  select head.place, scope.rev
    from unnest(%(scope_ids)s::bigint[], %(file_ids)s::bigint[], %(versions)s::integer[])
         as closed (scope_id, file_id, version)
   cross join lateral (
         select scope.rev
           from scope
          where scope.scope_id = closed.scope_id
         offset 0) as scope
   cross join lateral (
         select revision.ctid as place
           from revision
          where revision.scope_id = closed.scope_id
            and revision.file_id = closed.file_id
            and revision.version = closed.version
            and revision.rev_end is null
         offset 0) as head
)
update revision
   set rev_end = located.rev
  from located
 where revision.ctid = located.place
returning revision.file_id;
