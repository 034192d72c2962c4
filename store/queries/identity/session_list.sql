-- The open sessions of a tenant, the newest first; those of one key, or with null of all.
select s.session_id, s.key_id, k.label, s.role, s.user_id, s.created_at, s.expires_at, s.used_at
  from ui_session s
  left join api_key k on k.key_id = s.key_id
 where s.tenant_id = %(tenant_id)s::bigint
   and s.revoked_at is null
   and s.expires_at > clock_timestamp()
   and k.revoked_at is null
   and (%(key_id)s::bigint is null or s.key_id = %(key_id)s::bigint)
 order by s.session_id desc
 limit 1000;
