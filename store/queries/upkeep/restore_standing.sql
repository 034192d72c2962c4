-- The revisions of a scope that stood after any of its changes `revs`, deletions too, those of the highest version at
-- their path by then, and the named ones up to `last_rev`. What ended after that is open. The versions of a path grow
-- with the changes, so the next one there says until when a revision was the highest.
select file_id, version, rev, case when rev_end <= %(last_rev)s then rev_end end as rev_end, path, content, operation,
       deleted, counterpart, reason, actor, channel, tool_call_id, created_at, sha256, origin, said_at, about,
       valid::text as valid, thinned
  from revision
  left join lateral (
         select later.rev as next_rev
           from revision later
          where later.scope_id = %(scope_id)s
            and later.path = revision.path
            and later.version > revision.version
          order by later.version
          limit 1) as next on true
 where scope_id = %(scope_id)s
   and rev <= %(last_rev)s
   and (exists (
          select
            from unnest(%(revs)s::bigint[]) as moment (rev)
           where revision.rev <= moment.rev
             and (rev_end is null or next_rev is null or moment.rev < greatest(rev_end, next_rev)))
        or (path, version) in (
          select *
            from unnest(%(paths)s::text[], %(versions)s::integer[])))
 order by rev, path;
