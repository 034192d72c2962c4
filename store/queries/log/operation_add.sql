-- Log one call as the next attempt under its tool call id, and the requests to models inside it. Without those the
-- arrays are null.
with call as (
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
  returning *
)
, inner_operation as (
  insert into operation
    (scope_id, tenant_id, tool_call_id, user_id, attempt, parent_id, ordinal, kind, status, principal, request,
     request_sha256, response, result_sha256, state, engine, now, error_code, started_at, duration_ms, model, usage,
     prompt_sha256)
  select call.scope_id, call.tenant_id, call.tool_call_id, call.user_id, call.attempt, call.operation_id,
         operation.ordinal, operation.kind, operation.status, '{}', operation.request, operation.request_sha256,
         operation.response, operation.result_sha256, operation.state, call.engine, call.now, operation.error_code,
         operation.started_at, operation.duration_ms, operation.model, operation.usage, operation.prompt_sha256
    from call,
         unnest(%(ordinals)s::integer[], %(kinds)s::text[], %(statuses)s::text[], %(requests)s::jsonb[],
                %(request_sha256s)s::bytea[], %(responses)s::jsonb[], %(states)s::jsonb[], %(error_codes)s::text[], %(starts)s::timestamptz[],
                %(durations_ms)s::double precision[], %(models)s::text[], %(usages)s::jsonb[],
                %(prompt_sha256s)s::bytea[], %(result_sha256s)s::bytea[])
           as operation (ordinal, kind, status, request, request_sha256, response, state, error_code, started_at,
                         duration_ms, model, usage, prompt_sha256, result_sha256)
)
select operation_id, attempt
  from call;
