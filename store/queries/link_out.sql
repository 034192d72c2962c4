-- The links of these files, each side of each, in the order in which they stand there.
select link.scope_id, link.source_file_id, link.ordinal, link.target_key, link.raw, link.anchor, head.path
  from unnest(%(scope_ids)s::bigint[], %(file_ids)s::bigint[]) as source (scope_id, file_id)
  join link
    on link.scope_id = source.scope_id
   and link.source_file_id = source.file_id
  join revision head
    on head.scope_id = link.scope_id
   and head.file_id = link.source_file_id
   and head.rev_end is null
 order by link.scope_id, head.path, link.ordinal, link.side
 limit %(limit)s;
