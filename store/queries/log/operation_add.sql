-- Log one call as the next attempt under its tool call id.
insert into operation
  (scope_id, tenant_id, tool_call_id, user_id, attempt, kind, status, principal, request, request_sha256, response,
   result_sha256, state, engine, config, now, error_code, started_at, duration_ms, saw,
   inside, inside_sha256)
select %(scope_id)s::bigint, %(tenant_id)s::bigint, %(tool_call_id)s::text, %(user_id)s::text,
       -- A filter and no condition, by which the index of all calls of the scope could be chosen.
       (select count(*) filter (where earlier.parent_id is null) + 1
          from operation earlier
         where earlier.scope_id = %(scope_id)s
           and earlier.tool_call_id = %(tool_call_id)s
           and earlier.user_id = %(user_id)s),
       %(kind)s::text, %(status)s::text, %(principal)s::jsonb, %(request)s::jsonb, %(request_sha256)s::bytea,
       %(response)s::jsonb, %(result_sha256)s::bytea, %(state)s::jsonb, %(engine)s::text, %(config)s::jsonb,
       %(now)s::timestamptz, %(error_code)s::text, %(now)s::timestamptz, %(duration_ms)s::double precision,
       %(saw)s::text[], %(inside)s::jsonb, %(inside_sha256)s::bytea
returning operation_id;
