-- Let a session show the memory of another user, or with null that of nobody.
update ui_session
   set user_id = %(user_id)s::text
 where tenant_id = %(tenant_id)s::bigint
   and session_id = %(session_id)s::bigint;
