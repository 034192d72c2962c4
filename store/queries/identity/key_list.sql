-- A tenant's keys, without their digests.
select key_id, role, user_id, label, created_at, revoked_at
  from api_key
 where tenant_id = %(tenant_id)s::bigint
 order by key_id;
