-- What stands at each path, whole: a row a path, with the state of its scope, the open revision of its file, if there is
-- one, and the chunks of that file in their order. Text and chunks are left out where only versions matter. `offset 0`
-- keeps each look-up by its key, also by a plan that was made while the tables were empty.
select wanted.scope_id,
       scope.rev,
       scope.language,
       scope.rebuilds,
       wanted.path,
       head.file_id,
       head.version,
       case when %(with_content)s then head.content end as content,
       coalesce((select max(stored.version)
                   from revision stored
                  where stored.scope_id = wanted.scope_id
                    and stored.path = wanted.path), 0) as highest,
       stored_chunks.*,
       scope_usage.*
  from unnest(%(scope_ids)s::bigint[], %(paths)s::text[]) with ordinality as wanted (scope_id, path, place)
 cross join lateral (
        select *
          from scope
         where scope.scope_id = wanted.scope_id
        offset 0) as scope
  left join lateral (
        select *
          from revision
         where revision.scope_id = wanted.scope_id
           and revision.path = wanted.path
           and revision.rev_end is null
           and not revision.deleted
        offset 0) as head on true
  left join lateral (
        select array_agg(chunk.chunk_id order by chunk.chunk_id) as chunk_ids,
               array_agg(chunk.start_char order by chunk.chunk_id) as starts,
               array_agg(chunk.end_char order by chunk.chunk_id) as ends,
               array_agg(array_to_string(chunk.heading_path, chr(31)) order by chunk.chunk_id) as heading_paths,
               array_agg(chunk.sha256 order by chunk.chunk_id) as sha256s,
               array_agg(chunk.length order by chunk.chunk_id) as lengths
          from (select *
                  from chunk
                 where %(with_content)s
                   and chunk.scope_id = wanted.scope_id
                   and chunk.file_id = head.file_id
                offset 0) as chunk) as stored_chunks on true
  left join lateral (
        -- Once a scope. What nobody has counted since the last change is counted now.
        select case when scope.counted_rev = scope.rev
                    then array[scope.standing_bytes, scope.revisions, scope.stored_bytes, scope.journal_bytes]
                    else (select array[coalesce(sum(octet_length(stored.content))
                                                filter (where stored.rev_end is null and stored.origin is null), 0),
                                       count(*), coalesce(sum(octet_length(stored.content)), 0),
                                       coalesce(sum(octet_length(stored.content))
                                                filter (where stored.rev_end is null and stored.origin is not null), 0)
                                      ]::bigint[]
                            from revision stored
                           where stored.scope_id = wanted.scope_id)
               end as used,
               (select jsonb_agg(to_jsonb(quota))
                  from quota
                 where quota.tenant_id = scope.tenant_id
                   and (quota.kind = 'tenant' or quota.kind = scope.kind and quota.key in (scope.key, ''))) as quotas
         where wanted.place = array_position(%(scope_ids)s::bigint[], wanted.scope_id)) as scope_usage on true;
