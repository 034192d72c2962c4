-- For each file of which some path@version name revisions: the revision before the first of them, and all after it, in
-- order, and which are undone. Text only where an undo needs it: at the ends of those that follow each other, and of the
-- file. No row for a path that never had the version.
with undone as (
  select distinct wanted.scope_id, called.file_id, called.rev
    from unnest(%(scope_ids)s::bigint[], %(paths)s::text[], %(versions)s::integer[])
         as wanted (scope_id, path, version)
   cross join lateral (
          select file_id, rev
            from revision
           where revision.scope_id = wanted.scope_id
             and revision.path = wanted.path
             and revision.version = wanted.version
          offset 0) as called
),
chain as (
  select file.scope_id, link.*, undone.rev is not null as is_undone,
         lead(undone.rev is not null) over (partition by file.scope_id, link.file_id order by link.rev) as is_next_undone
    from (select scope_id, file_id, min(rev) as rev from undone group by scope_id, file_id) as file
   cross join lateral (
          select revision.file_id, revision.path, revision.version, revision.rev, revision.rev_end, revision.deleted,
                 revision.tool_call_id, revision.operation, revision.content, revision.thinned
            from revision
           where revision.scope_id = file.scope_id
             and revision.file_id = file.file_id
             and (revision.rev >= file.rev or revision.rev_end = file.rev)
          offset 0) as link
    left join undone
      on undone.scope_id = file.scope_id
     and undone.file_id = link.file_id
     and undone.rev = link.rev
)
select scope_id, file_id, path, version, rev, deleted, tool_call_id, operation, is_undone,
       case when rev_end is null or is_undone <> is_next_undone then content else '' end as content, thinned
  from chain
 order by scope_id, file_id, rev;
