-- Plan the statements of this transaction as usual again. Always one row.
select set_config('enable_seqscan', 'on', true);
