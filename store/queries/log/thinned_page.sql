-- Versions of a scope that are not the last text of their file on their day, in UTC, each with that text, in the order of
-- their changes. Entries of the journal are left out. No row when there is none.
select revision.rev, revision.file_id, revision.content, last.rev as last_rev, last.content as last_content
  from revision
 cross join lateral (
        select later.rev, later.content
          from revision as later
         where later.scope_id = revision.scope_id
           and later.file_id = revision.file_id
           and later.rev > revision.rev
           and not later.deleted
           and (later.created_at at time zone 'UTC')::date = (revision.created_at at time zone 'UTC')::date
         order by later.rev desc
         limit 1) as last
 where revision.scope_id = %(scope_id)s
   and (revision.rev, revision.file_id) > (%(after_rev)s, %(after_file)s)
   and revision.created_at < %(before)s
   and revision.rev_end is not null
   and revision.thinned is null
   and revision.origin is null
   and not revision.deleted
   and %(mount)s::text || '/' || revision.path || '@' || revision.version <> all (%(names)s::text[])
 order by revision.rev, revision.file_id
 limit %(limit)s;
