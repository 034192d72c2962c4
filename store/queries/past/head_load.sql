-- The file that stood at each path after a change of its scope, if any, and the highest version that had been stored
-- there: a row a path.
select wanted.scope_id,
       wanted.path,
       head.file_id,
       head.version,
       head.content,
       head.thinned,
       coalesce((select max(stored.version)
                   from revision stored
                  where stored.scope_id = wanted.scope_id
                    and stored.path = wanted.path
                    and stored.rev <= wanted.rev), 0) as highest
  from unnest(%(scope_ids)s::bigint[], %(paths)s::text[], %(revs)s::bigint[]) as wanted (scope_id, path, rev)
  left join lateral (
        select *
          from revision
         where revision.scope_id = wanted.scope_id
           and revision.path = wanted.path
           and revision.rev <= wanted.rev
           and (revision.rev_end is null or revision.rev_end > wanted.rev)
           and not revision.deleted
         order by revision.version desc
         limit 1) as head on true;
