-- Put into a scope which statements contradict older ones. A pair of which the tenant has not both scopes is left out.
insert into rival
  (scope_id, tenant_id, older_scope, older_path, older_key, older_start, older_end, newer_scope, newer_path, newer_key,
   newer_start, newer_end, is_settled, rev, rev_end, tool_call_id)
select %(scope_id)s::bigint, %(tenant_id)s::bigint, older.scope_id, put.older_path, decode(put.older_key, 'hex'),
       put.older_start, put.older_end, newer.scope_id, put.newer_path, decode(put.newer_key, 'hex'), put.newer_start,
       put.newer_end, put.is_settled, put.rev, put.rev_end, put.tool_call_id
  from jsonb_to_recordset(%(rivals)s::jsonb)
         as put (older_kind text, older_owner text, older_path text, older_key text, older_start integer,
                 older_end integer, newer_kind text, newer_owner text, newer_path text, newer_key text,
                 newer_start integer, newer_end integer, is_settled boolean, rev bigint, rev_end bigint,
                 tool_call_id text)
  join scope as older
    on older.tenant_id = %(tenant_id)s::bigint
   and older.kind = put.older_kind
   and older.key = put.older_owner
  join scope as newer
    on newer.tenant_id = %(tenant_id)s::bigint
   and newer.kind = put.newer_kind
   and newer.key = put.newer_owner
    on conflict do nothing;
