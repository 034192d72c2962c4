-- For each path@version: the revision before it of the same file, that one, and all after it, in order. Text only where
-- an undo needs it. No row for a path that never had the version.
select wanted.ordinal, chain.*
  from unnest(%(scope_ids)s::bigint[], %(paths)s::text[], %(versions)s::integer[])
       with ordinality as wanted (scope_id, path, version, ordinal)
 cross join lateral (
        select file_id, rev
          from revision
         where revision.scope_id = wanted.scope_id
           and revision.path = wanted.path
           and revision.version = wanted.version
        offset 0) as called
 cross join lateral (
        select revision.file_id, revision.path, revision.version, revision.rev, revision.deleted,
               revision.tool_call_id,
               case when revision.rev <= called.rev or revision.rev_end is null then revision.content else '' end
               as content, revision.thinned
          from revision
         where revision.scope_id = wanted.scope_id
           and revision.file_id = called.file_id
           and (revision.rev >= called.rev or revision.rev_end = called.rev)
        offset 0) as chain
 order by wanted.ordinal, chain.rev;
