-- Remove the calls between two keys of the log of which every attempt is old, none is kept and none is in the queue or
-- runs, with what is inside them. Always one row: how many calls, how many operations with them, and their bytes.
with old as (
  select call.scope_id, call.operation_id
    from operation call
   where (call.scope_id, call.operation_id) > (%(after_scope_id)s::bigint, %(after_operation_id)s::bigint)
     and (call.scope_id, call.operation_id) <= (%(last_scope_id)s::bigint, %(last_operation_id)s::bigint)
     and call.parent_id is null
     and (%(tenant_id)s::bigint is null or call.tenant_id = %(tenant_id)s)
     and call.started_at < %(before)s
     and not call.kept
     and not exists (
           select
             from operation attempt
            where attempt.scope_id = call.scope_id
              and attempt.tool_call_id = call.tool_call_id
              and attempt.user_id = call.user_id
              and attempt.parent_id is null
              and (attempt.kept or attempt.started_at >= %(before)s
                   or attempt.status in ('queued', 'quarantined', 'running')))
     for update
)
, inside as (
  delete from operation
   using old
   where operation.scope_id = old.scope_id
     and operation.parent_id = old.operation_id
  returning pg_column_size(operation.*) as size_bytes
)
, called as (
  delete from operation
   using old
   where operation.scope_id = old.scope_id
     and operation.operation_id = old.operation_id
  returning pg_column_size(operation.*) as size_bytes,
            coalesce(jsonb_array_length(operation.inside), 0) as held
)
, gone as (
  select size_bytes, 0 as held, false as is_call from inside
   union all
  select size_bytes, held, true from called
)
select count(*) filter (where is_call) as calls,
       count(*) + coalesce(sum(held), 0)::bigint as operations,
       coalesce(sum(size_bytes), 0)::bigint as size_bytes
  from gone;
