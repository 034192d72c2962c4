-- The newest entries of a journal that the user said about no project, and of which no statement was ever made.
select entry.path, entry.version, entry.content, entry.said_at
  from revision as entry
 where entry.scope_id = %(scope_id)s
   and entry.rev_end is null
   and not entry.deleted
   and entry.origin = 'user'
   and entry.about is null
   and entry.valid is null
   and not exists (
         select
           from statement
          where statement.entry_scope = entry.scope_id
            and statement.entry_path = entry.path)
 order by entry.rev desc
 limit %(limit)s;
