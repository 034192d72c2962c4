-- The files and entries of which it is known on which days they hold, as memory stood after the change `rev` of each scope:
-- the first day and the day behind the last one, null without a bound. They are few: they are looked up by their own index
-- (`offset 0`), whatever the statistics say, and not among all that a scope has ever held.
select bounded.scope_id, bounded.path, lower(bounded.valid) as first_day, upper(bounded.valid) as end_day
  from unnest(%(scope_ids)s::bigint[], %(revs)s::bigint[]) as seen (scope_id, rev)
 cross join lateral (
         select *
           from revision
          where revision.scope_id = seen.scope_id
            and revision.valid is not null
         offset 0) as bounded
 where bounded.rev <= seen.rev
   and (bounded.rev_end is null or bounded.rev_end > seen.rev)
   and not bounded.deleted
 order by bounded.scope_id, bounded.path;
