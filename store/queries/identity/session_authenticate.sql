-- The session with this digest. No row when it is unknown or has ended, or when its key was revoked.
select session_id, tenant_id, role, user_id, created_at, expires_at, used_at, key_id, key_sha256, bound_user
  from authenticate_session(%(token_sha256)s::bytea);
