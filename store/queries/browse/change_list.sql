-- The newest changes of scopes, the newest first: when each was made, by whom, how many files it wrote, and the first of
-- them. By `until` only those made before; within a scope a change is never earlier than the one before it.
select searched.scope_id, change.rev, change.created_at, change.actor, change.files, change.path
  from unnest(%(scope_ids)s::bigint[]) as searched (scope_id)
 cross join lateral (
        select revision.rev, min(revision.created_at) as created_at,
               min(coalesce(revision.actor, revision.channel)) as actor, count(*) as files,
               min(revision.path) as path
          from revision
         where revision.scope_id = searched.scope_id
           and (%(until)s::timestamptz is null or revision.created_at < %(until)s::timestamptz)
         group by revision.rev
         order by revision.rev desc
         limit %(limit)s) as change
 order by change.created_at desc, searched.scope_id, change.rev desc
 limit %(limit)s;
