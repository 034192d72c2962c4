-- Every side of the links of which some side has one of these keys.
select link.scope_id, link.source_file_id, link.ordinal, link.target_key, link.raw, link.anchor, head.path
  from (select distinct scope_id, source_file_id, ordinal
          from link
         where scope_id = any (%(scope_ids)s::bigint[])
           and target_key = any (%(keys)s::text[])) as named
  join link
    on link.scope_id = named.scope_id
   and link.source_file_id = named.source_file_id
   and link.ordinal = named.ordinal
  join revision head
    on head.scope_id = link.scope_id
   and head.file_id = link.source_file_id
   and head.rev_end is null
 order by link.scope_id, head.path, link.ordinal, link.side
 limit %(limit)s;
