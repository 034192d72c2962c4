-- Make a scope that a first call needs.
select ensure_scope(%(tenant_id)s::bigint, %(kind)s::text, %(key)s::text, %(language)s::text);
