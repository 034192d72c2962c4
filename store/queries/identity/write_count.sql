-- Count what this transaction writes; fails with MX005 if a limit is reached over all replicas. One empty row.
select count_write(%(rates)s::jsonb) is null as is_counted;
