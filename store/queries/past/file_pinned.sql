-- The pinned files of these scopes that have stood unchanged since each one's change `rev`, in the order of the scopes
-- and of their paths.
select head.scope_id, head.path
  from unnest(%(scope_ids)s::bigint[], %(revs)s::bigint[]) with ordinality as searched (scope_id, rev, place)
 cross join lateral (
        select *
          from revision
         where revision.scope_id = searched.scope_id
           and revision.rev_end is null
           and not revision.deleted
           and revision.pinned
           and revision.rev <= searched.rev
         order by revision.path
         limit %(limit)s) as head
 order by searched.place, head.path
 limit %(limit)s;
