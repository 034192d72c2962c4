-- What BM25 needs to know of each scope, the chunks that its postings still hold though they were removed, and whether
-- short files of it stand in a numbered series.
select scope_stat.scope_id, scope_stat.n, scope_stat.total_length, scope_stat.has_series,
       array(select removed.chunk_id
               from chunk_removed removed
              where removed.scope_id = scope_stat.scope_id) as removed
  from scope_stat
 where scope_stat.scope_id = any (%(scope_ids)s::bigint[]);
