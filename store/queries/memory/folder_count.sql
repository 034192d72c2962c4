-- How many files stand in each of these folders and below it, and when the last of them changed, in the order in which
-- the folders come.
select wanted.path, counted.files, counted.updated_at
  from unnest(%(folders)s::text[]) with ordinality as wanted (path, place)
 cross join lateral (
        select count(*) as files, max(created_at) as updated_at
          from revision
         where revision.scope_id = %(scope_id)s
           and revision.path >= wanted.path
           and revision.path < wanted.path || repeat(chr(1114111), 512)
           and revision.rev_end is null
           and not revision.deleted) as counted
 order by wanted.place;
