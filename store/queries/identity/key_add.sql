-- Store the digest of a new key.
insert into api_key (tenant_id, key_sha256, role, user_id, label)
values (%(tenant_id)s::bigint, %(key_sha256)s::bytea, %(role)s::text, %(user_id)s::text, %(label)s::text)
returning key_id, created_at;
