-- The first version of these scopes, of changes up to the given ones, of which words were erased. No row when there is none.
select revision.scope_id, revision.path, revision.version
  from unnest(%(scope_ids)s::bigint[], %(revs)s::bigint[]) as seen (scope_id, rev)
  join revision
    on revision.scope_id = seen.scope_id
   and revision.rev <= seen.rev
   and revision.erased
 order by revision.scope_id, revision.path, revision.version
 limit 1;
