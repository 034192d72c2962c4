-- End a session of a tenant; one of a key, or with null of any. No row when there is no such session that is open.
update ui_session
   set revoked_at = clock_timestamp()
 where tenant_id = %(tenant_id)s::bigint
   and session_id = %(session_id)s::bigint
   and revoked_at is null
   and (%(key_id)s::bigint is null or key_id = %(key_id)s::bigint)
returning session_id;
