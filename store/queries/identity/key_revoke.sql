-- Revoke a key of a tenant. No row when the tenant has no such key.
update api_key
   set revoked_at = coalesce(revoked_at, clock_timestamp())
 where tenant_id = %(tenant_id)s::bigint
   and key_id = %(key_id)s::bigint
returning key_id, role, user_id, label, created_at, revoked_at;
