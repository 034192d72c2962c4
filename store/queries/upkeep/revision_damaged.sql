-- The revisions of these scopes, of changes up to the given ones, whose text is not the one that was stored. No row
-- when all is well; at most ten.
select revision.scope_id, revision.path, revision.version, encode(revision.sha256, 'hex') as stored,
       encode(sha256(convert_to(revision.content, 'UTF8')), 'hex') as found
  from unnest(%(scope_ids)s::bigint[], %(revs)s::bigint[]) as seen (scope_id, rev)
  join revision
    on revision.scope_id = seen.scope_id
   and revision.rev <= seen.rev
   and revision.thinned is null
   and revision.sha256 <> sha256(convert_to(revision.content, 'UTF8'))
 order by revision.scope_id, revision.path, revision.version
 limit 10;
