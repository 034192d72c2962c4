-- Fail with MX003 if a tenant, with what this transaction has written, stores more than its quota allows. One empty row.
select check_tenant_quota(%(tenant_id)s::bigint, %(added)s::jsonb) is null as is_checked;
