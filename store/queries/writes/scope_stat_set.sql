-- Put the counters of scopes whose lock is held.
update scope_stat
   set n = counted.n,
       total_length = counted.total_length,
       files = counted.files,
       next_file_id = counted.next_file_id,
       next_chunk_id = counted.next_chunk_id,
       merged_chunk_id = counted.merged_chunk_id,
       unmerged = counted.unmerged,
       has_series = counted.has_series
  from unnest(%(scope_id)s::bigint[], %(n)s::integer[], %(total_length)s::bigint[], %(files)s::integer[],
              %(next_file_id)s::bigint[], %(next_chunk_id)s::integer[], %(merged_chunk_id)s::integer[],
              %(unmerged)s::integer[], %(has_series)s::boolean[])
       as counted (scope_id, n, total_length, files, next_file_id, next_chunk_id, merged_chunk_id, unmerged,
                   has_series)
 where scope_stat.scope_id = counted.scope_id;
