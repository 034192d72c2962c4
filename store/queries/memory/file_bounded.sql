-- The files and entries of which it is known on which days they hold, as memory stood after the change `rev` of each scope:
-- the first day and the day behind the last one, null without a bound.
select revision.scope_id, revision.path, lower(revision.valid) as first_day, upper(revision.valid) as end_day
  from unnest(%(scope_ids)s::bigint[], %(revs)s::bigint[]) as seen (scope_id, rev)
  join revision using (scope_id)
 where revision.valid is not null
   and revision.rev <= seen.rev
   and (revision.rev_end is null or revision.rev_end > seen.rev)
   and not revision.deleted
 order by revision.scope_id, revision.path;
