-- The revision before path@version of the same file, that one, and all after it, in order. Text only where an
-- undo needs it. No row when the path never had the version.
with called as (
  select file_id, rev
    from revision
   where scope_id = %(scope_id)s
     and path = %(path)s
     and version = %(version)s
)
select revision.file_id, revision.path, revision.version, revision.rev, revision.deleted, revision.tool_call_id,
       case when revision.rev <= called.rev or revision.rev_end is null then revision.content else '' end as content
  from called
  join revision
    on revision.scope_id = %(scope_id)s
   and revision.file_id = called.file_id
   and (revision.rev >= called.rev or revision.rev_end = called.rev)
 order by revision.rev;
