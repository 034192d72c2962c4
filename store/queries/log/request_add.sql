-- Log the requests to models inside an attempt at a call.
with call as (
  select *
    from operation
   where scope_id = %(scope_id)s::bigint
     and operation_id = %(parent_id)s::bigint
)
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
              %(request_sha256s)s::bytea[], %(responses)s::jsonb[], %(states)s::jsonb[], %(error_codes)s::text[],
              %(starts)s::timestamptz[], %(durations_ms)s::double precision[], %(models)s::text[],
              %(usages)s::jsonb[], %(prompt_sha256s)s::bytea[], %(result_sha256s)s::bytea[])
         as operation (ordinal, kind, status, request, request_sha256, response, state, error_code, started_at,
                       duration_ms, model, usage, prompt_sha256, result_sha256);
