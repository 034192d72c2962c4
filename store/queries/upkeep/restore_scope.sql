-- Make a scope as one stood, with its counters and its lock; its index is made afterwards.
with made as (
  insert into scope (tenant_id, kind, key, language, rev, last_at)
  values (%(tenant_id)s::bigint, %(kind)s::text, %(key)s::text, %(language)s::text, %(rev)s::bigint,
          coalesce(%(last_at)s::timestamptz, '-infinity'))
  returning scope_id, tenant_id
)
insert into scope_stat (scope_id, tenant_id, next_file_id, has_series)
select scope_id, tenant_id, %(next_file_id)s::bigint, true
  from made
returning scope_id;
