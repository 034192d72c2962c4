-- The journal entry that holds a text, told about the same project or about none, now or after the change `rev` of the
-- scope. No row for a text that is new, or of which newer statements took the place of a part: it is said anew.
select path, version
  from revision
 where scope_id = %(scope_id)s
   and sha256 = %(sha256)s
   and origin is not null
   and not deleted
   and about is not distinct from %(about)s
   and rev <= %(rev)s
   and (rev_end is null or rev_end > %(rev)s)
   and not exists (
         select
           from statement
          where statement.entry_scope = revision.scope_id
            and statement.entry_path = revision.path
            and statement.file_id = revision.file_id
            and statement.state in ('replaced', 'closed')
            and statement.rev <= %(rev)s
            and (statement.rev_end is null or statement.rev_end > %(rev)s))
 order by path
 limit 1;
