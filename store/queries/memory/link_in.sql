-- The links of which some side has one of these keys, in the order of the scopes and by the file in which they
-- stand, each with all its sides. Each link is looked up by its place: where a file that was just written names one
-- target thousands of times, a plan by statistics would read all of its links for each of them.
select link.scope_id, link.source_file_id as file_id, head.path, link.raw, link.anchor,
       array_agg(link.target_key order by link.side) as target_keys
  from (select distinct scope_id, source_file_id, ordinal
          from link
         where scope_id = any (%(scope_ids)s::bigint[])
           and target_key = any (%(keys)s::text[])) as named
 cross join lateral (
        select *
          from link
         where link.scope_id = named.scope_id
           and link.source_file_id = named.source_file_id
           and link.ordinal = named.ordinal
        offset 0) as link
 cross join lateral (
        select *
          from revision
         where revision.scope_id = named.scope_id
           and revision.file_id = named.source_file_id
           and revision.rev_end is null
        offset 0) as head
 group by link.scope_id, link.source_file_id, link.ordinal, link.raw, link.anchor, head.path
 order by array_position(%(scope_ids)s::bigint[], link.scope_id), head.path, link.ordinal
 limit %(limit)s;
