-- Log what of a scope was sent to an embedder. Nothing is logged when the scope is gone.
insert into operation
  (scope_id, tenant_id, tool_call_id, user_id, kind, status, principal, request, request_sha256, response, engine,
   config, model, now, error_code, started_at, duration_ms, saw)
select scope_id, tenant_id, %(tool_call_id)s, %(user_id)s, %(kind)s, %(status)s, %(principal)s::jsonb, %(request)s::jsonb,
       %(request_sha256)s, %(response)s::jsonb, %(engine)s, %(config)s::jsonb, %(model)s, %(started_at)s, %(error_code)s,
       %(started_at)s, %(duration_ms)s, %(saw)s
  from scope
 where scope_id = %(scope_id)s;
