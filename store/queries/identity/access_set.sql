-- Say for this transaction who acts and what it may see; row-level security does the rest. It fails if the caller may
-- not do so any more (`identity/access_check`), and else returns the access epoch. Our statements name
-- their rows by key, so one plan serves all parameters, and planning each anew costs more than running it. A plan that
-- was made while a table was small must not read it whole when it has grown. Behind a pooler, another client may
-- have left settings in the session: maintenance, which opens everything to the owner, is over here.
select check_access(%(tenant_id)s::bigint, %(role)s::text, %(user_id)s::text, %(key_id)s::bigint,
                    %(key_sha256)s::bytea, %(epoch)s::bigint, %(rights)s::bytea,
                    %(rights_to_read)s::bigint[], %(writable)s::bigint[]) as epoch,
       set_config('role', %(database_role)s, true),
       set_config('memex.maintenance', '', true),
       set_config('memex.acting', %(role)s, true),
       set_config('memex.tenant', %(tenant_id)s::text, true),
       set_config('memex.readable', %(readable)s::bigint[]::text, true),
       set_config('memex.writable', %(writable)s::bigint[]::text, true),
       set_config('memex.visitors', coalesce(%(visitors_id)s::bigint::text, ''), true),
       set_config('memex.user', coalesce(%(user_id)s::text, ''), true),
       set_config('memex.seal', %(seal)s::text, true),
       set_config('timezone', 'UTC', true),
       set_config('plan_cache_mode', 'force_generic_plan', true),
       set_config('enable_seqscan', 'off', true),
       set_config('synchronous_commit',
                  coalesce(%(synchronous_commit)s::text, current_setting('synchronous_commit')), true),
       set_config('lock_timeout', %(lock_timeout)s, true),
       set_config('statement_timeout', %(statement_timeout)s, true),
       set_config('idle_in_transaction_session_timeout', %(idle_timeout)s, true),
       set_config('client_connection_check_interval', %(client_check)s, true);
