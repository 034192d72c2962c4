-- Let this transaction act as the owner of all rows, and say how long Postgres waits for it. There is always one row.
select set_config('memex.maintenance', 'on', true),
       set_config('lock_timeout', %(lock_timeout)s, true),
       set_config('statement_timeout', %(statement_timeout)s, true),
       set_config('idle_in_transaction_session_timeout', %(idle_timeout)s, true),
       set_config('client_connection_check_interval', %(client_check)s, true);
