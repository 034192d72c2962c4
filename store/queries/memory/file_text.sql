-- The texts of the files that stand at these paths, each only if it has no more characters than is said beside its path.
-- A file is the first from its path on, as in search/chunk_alone.
select wanted.scope_id, wanted.path, head.version, head.content
  from unnest(%(scope_ids)s::bigint[], %(paths)s::text[], %(sizes)s::integer[]) as wanted (scope_id, path, size_chars)
 cross join lateral (
        select *
          from revision
         where revision.scope_id = wanted.scope_id
           and revision.path >= wanted.path
           and revision.rev_end is null
           and not revision.deleted
         order by revision.path
         limit 1) as head
 where head.path = wanted.path
   and head.size_chars <= wanted.size_chars;
