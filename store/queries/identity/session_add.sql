-- Open a session of the web UI, and forget those of the tenant that ended a month ago.
with forgotten as (
  delete from ui_session
   where tenant_id = %(tenant_id)s::bigint
     and expires_at < clock_timestamp() - interval '30 days'
)
insert into ui_session (tenant_id, token_sha256, key_id, role, user_id, expires_at)
values (%(tenant_id)s::bigint, %(token_sha256)s::bytea, %(key_id)s::bigint, %(role)s::text, %(user_id)s::text,
        clock_timestamp() + %(lifetime_s)s::integer * interval '1 second')
returning session_id;
