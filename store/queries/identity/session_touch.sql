-- Note that a session is used.
update ui_session
   set used_at = clock_timestamp()
 where tenant_id = %(tenant_id)s::bigint
   and session_id = %(session_id)s::bigint;
