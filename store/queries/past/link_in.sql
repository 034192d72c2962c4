-- As link_in, of the files alone that have stood unchanged since each scope's change `rev`.
select link.scope_id, link.source_file_id as file_id, head.path, link.raw, link.anchor, link.ordinal,
       array_agg(link.target_key order by link.side) as target_keys
  from (select distinct searched.scope_id, searched.rev, named.source_file_id, named.ordinal
          from unnest(%(scope_ids)s::bigint[], %(revs)s::bigint[]) as searched (scope_id, rev)
         cross join lateral (
                select link.source_file_id, link.ordinal
                  from link
                 where link.scope_id = searched.scope_id
                   and link.target_key = any (%(keys)s::text[])
                offset 0) as named) as named
 cross join lateral (
        select *
          from revision
         where revision.scope_id = named.scope_id
           and revision.file_id = named.source_file_id
           and revision.rev_end is null
           and revision.rev <= named.rev
        offset 0) as head
 cross join lateral (
        select *
          from link
         where link.scope_id = named.scope_id
           and link.source_file_id = named.source_file_id
           and link.ordinal = named.ordinal
        offset 0) as link
 group by link.scope_id, link.source_file_id, link.ordinal, link.raw, link.anchor, head.path
 order by array_position(%(scope_ids)s::bigint[], link.scope_id), head.path, link.ordinal
 limit %(limit)s;
