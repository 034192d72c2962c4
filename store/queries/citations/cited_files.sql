-- The files in which a link names one of these conversations, in the order of scopes and paths.
select link.scope_id, head.path, head.version, head.content
  from (select distinct scope_id, source_file_id
          from link
         where scope_id = any (%(scope_ids)s::bigint[])
           and target_key = any (%(keys)s::text[])) as link
 cross join lateral (
        select path, version, content
          from revision
         where revision.scope_id = link.scope_id
           and revision.file_id = link.source_file_id
           and revision.rev_end is null
           and not revision.deleted
        offset 0) as head
 order by array_position(%(scope_ids)s::bigint[], link.scope_id), head.path
 limit %(limit)s::integer;
