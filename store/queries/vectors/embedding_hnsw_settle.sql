-- Let a scan of an approximate index go on until it has given enough, and look at enough of it. For this transaction
-- alone.
select set_config('hnsw.iterative_scan', 'relaxed_order', true), set_config('hnsw.ef_search', %(candidates)s::text, true);
