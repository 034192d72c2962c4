-- Count that a text of the journal was told again. No rows.
insert into told_again (scope_id, tenant_id, path, said_at, tool_call_id)
select scope_id, tenant_id, %(path)s, %(said_at)s, %(tool_call_id)s
  from scope
 where scope_id = %(scope_id)s
    on conflict do nothing;
