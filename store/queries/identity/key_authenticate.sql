-- The key with this digest. No row when it is unknown or revoked.
select key_id, tenant_id, role, user_id
  from authenticate(%(key_sha256)s::bytea);
