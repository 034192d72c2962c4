-- Links of the files that stand at these paths: first those that stand in the texts given with them, then the others,
-- in their order, each with all its sides.
select wanted.place, near.raw, near.anchor, near.target_keys, near.is_near
  from unnest(%(scope_ids)s::bigint[], %(paths)s::text[], %(texts)s::text[])
         with ordinality as wanted (scope_id, path, text, place)
 cross join lateral (
        select revision.file_id
          from revision
         where revision.scope_id = wanted.scope_id
           and revision.path = wanted.path
           and revision.rev_end is null
           and not revision.deleted
        offset 0) as head
 cross join lateral (
        select link.ordinal, link.raw, link.anchor, array_agg(link.target_key order by link.side) as target_keys,
               strpos(wanted.text, link.raw) > 0 as is_near
          from link
         where link.scope_id = wanted.scope_id
           and link.source_file_id = head.file_id
         group by link.ordinal, link.raw, link.anchor
         order by is_near desc, link.ordinal
         limit %(limit)s) as near
 order by wanted.place, near.is_near desc, near.ordinal;
