-- The links of these files, in the order of the files and in which they stand there, each with all its sides.
select link.scope_id, link.source_file_id as file_id, link.raw, link.anchor,
       array_agg(link.target_key order by link.side) as target_keys
  from unnest(%(scope_ids)s::bigint[], %(file_ids)s::bigint[]) with ordinality as source (scope_id, file_id, place)
  join link
    on link.scope_id = source.scope_id
   and link.source_file_id = source.file_id
 group by source.place, link.scope_id, link.source_file_id, link.ordinal, link.raw, link.anchor
 order by source.place, link.ordinal
 limit %(limit)s;
