-- The last revision at each path, whether the path ever held a text, and whether a version of it held another text. No
-- row comes back for a path at which no file ever stood.
select wanted.scope_id,
       wanted.path,
       last.version,
       last.sha256,
       last.channel,
       last.created_at,
       last.deleted,
       last.rev_end is null and not last.deleted as stands,
       exists (select
                 from revision earlier
                where earlier.scope_id = wanted.scope_id
                  and earlier.path = wanted.path
                  and earlier.sha256 = wanted.sha256
                  and not earlier.deleted) as held_text,
       exists (select
                 from revision base
                where base.scope_id = wanted.scope_id
                  and base.path = wanted.path
                  and base.version = wanted.base_version
                  and base.sha256 = wanted.base_sha256) as held_base
  from unnest(%(scope_ids)s::bigint[], %(paths)s::text[], %(sha256s)s::bytea[], %(base_versions)s::integer[],
              %(base_sha256s)s::bytea[]) as wanted (scope_id, path, sha256, base_version, base_sha256)
 cross join lateral (
        select *
          from revision
         where revision.scope_id = wanted.scope_id
           and revision.path = wanted.path
         order by revision.version desc
         limit 1) as last;
