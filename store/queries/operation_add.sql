-- Log one call as the next attempt under its tool call id.
insert into operation
  (scope_id, tenant_id, tool_call_id, user_id, attempt, kind, status, principal, request, request_sha256, response,
   result_sha256, state, engine, now, error_code, started_at, duration_ms)
select %(scope_id)s::bigint, %(tenant_id)s::bigint, %(tool_call_id)s::text, %(user_id)s::text,
       (select count(*) + 1
          from operation earlier
         where earlier.scope_id = %(scope_id)s
           and earlier.tool_call_id = %(tool_call_id)s
           and earlier.user_id = %(user_id)s
           and earlier.parent_id is null),
       %(kind)s::text, %(status)s::text, %(principal)s::jsonb, %(request)s::jsonb, %(request_sha256)s::bytea,
       %(response)s::jsonb, %(result_sha256)s::bytea, %(state)s::jsonb, %(engine)s::text, %(now)s::timestamptz,
       %(error_code)s::text, %(now)s::timestamptz, %(duration_ms)s::double precision
returning operation_id, attempt;
