-- Fail with MX003 if a scope, or the tenant where `scope_id` is null, with what this transaction has written, stores more
-- than its quota allows. One empty row.
select check_tenant_quota(%(tenant_id)s::bigint, %(added)s::jsonb, coalesce(scope.kind, 'tenant'),
                          coalesce(scope.key, '')) is null as is_checked
  from (select %(scope_id)s::bigint as scope_id) as grown
  left join scope using (scope_id);
