-- Where a statement took the place of one that contradicts older statements, record that it contradicts them too. Pages and
-- journal have their new revisions already. No rows.
insert into rival
  (scope_id, tenant_id, older_scope, older_path, older_key, older_start, older_end, newer_scope, newer_path, newer_key,
   newer_start, newer_end, is_settled, rev, tool_call_id)
select rival.scope_id, rival.tenant_id, rival.older_scope, rival.older_path, rival.older_key, rival.older_start,
       rival.older_end, taken.newer_scope, taken.newer_path, decode(taken.newer_key, 'hex'), taken.newer_start,
       taken.newer_end, false, scope.rev, %(tool_call_id)s
  from jsonb_to_recordset(%(pairs)s::jsonb)
         as taken (scope_id bigint, older_scope bigint, older_path text, older_key text, newer_scope bigint,
                   newer_path text, newer_key text, newer_start integer, newer_end integer)
  join rival
    on rival.scope_id = taken.scope_id
   and rival.newer_scope = taken.older_scope
   and rival.newer_path = taken.older_path
   and rival.newer_key = decode(taken.older_key, 'hex')
  join scope
    on scope.scope_id = rival.scope_id
 where not rival.is_settled
   and rival.rev_end is null
   and rival.older_key <> decode(taken.newer_key, 'hex')
    on conflict do nothing;
