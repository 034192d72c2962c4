-- Let this transaction wait so long for a lock and as long as it takes for all else, and return its process of Postgres.
select pg_backend_pid(),
       set_config('lock_timeout', %(lock_timeout)s, true),
       set_config('statement_timeout', '0', true),
       set_config('idle_in_transaction_session_timeout', '0', true);
