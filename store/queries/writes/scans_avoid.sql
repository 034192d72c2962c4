-- Plan the statements of this transaction without scans of whole tables: right after a table began to grow, its
-- statistics may say that it is empty. Always one row.
select set_config('enable_seqscan', 'off', true);
