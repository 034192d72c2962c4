-- The texts of pages as they stood at a time, in the newest version that has its text; no row for one that was made later.
select distinct on (revision.file_id) revision.file_id, revision.content
  from revision
 where revision.scope_id = %(scope_id)s
   and revision.file_id = any (%(file_ids)s::bigint[])
   and revision.created_at <= %(at)s
   and revision.thinned is null
 order by revision.file_id, revision.rev desc;
