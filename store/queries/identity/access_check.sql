-- Fail unless the caller may still do what the transaction's settings say; see `check_access` in schema.sql.
select check_access(%(tenant_id)s::bigint, %(role)s::text, %(user_id)s::text, %(key_id)s::bigint,
                    %(key_sha256)s::bytea, %(epoch)s::bigint, %(rights)s::bytea,
                    %(rights_to_read)s::bigint[], %(writable)s::bigint[]) as epoch;
