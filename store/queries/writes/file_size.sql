-- How many characters the files that stand at some paths hold together. There is always one row.
select coalesce(sum(head.size_chars), 0)::bigint as chars
  from unnest(%(scope_ids)s::bigint[], %(paths)s::text[]) as wanted (scope_id, path)
 cross join lateral (
        select size_chars
          from revision
         where revision.scope_id = wanted.scope_id
           and revision.path = wanted.path
           and revision.rev_end is null
           and not revision.deleted
        offset 0) as head;
