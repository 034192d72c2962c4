-- Put into a journal when texts of it were told again.
insert into told_again (scope_id, tenant_id, path, said_at, tool_call_id, taken_back_in)
select %(scope_id)s::bigint, %(tenant_id)s::bigint, put.path, put.said_at, put.tool_call_id, put.taken_back_in
  from jsonb_to_recordset(%(repeats)s::jsonb)
         as put (path text, said_at timestamptz, tool_call_id text, taken_back_in text);
