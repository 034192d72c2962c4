-- Take the writers' lock of these scopes, in the order of their ids, and return their counters.
select scope_id, tenant_id, n, total_length, files, next_file_id, next_chunk_id, merged_chunk_id, unmerged,
       has_series
  from scope_stat
 where scope_id = any (%(scope_ids)s::bigint[])
 order by scope_id
   for update;
