-- How many calls between two keys of the log are old, how many operations they hold with themselves, and their bytes.
-- The same calls as those that operation_prune.sql removes. Always one row.
with old as (
  select call.scope_id, call.operation_id
    from operation call
   where (call.scope_id, call.operation_id) > (%(after_scope_id)s::bigint, %(after_operation_id)s::bigint)
     and (call.scope_id, call.operation_id) <= (%(last_scope_id)s::bigint, %(last_operation_id)s::bigint)
     and call.parent_id is null
     and (%(tenant_id)s::bigint is null or call.tenant_id = %(tenant_id)s)
     and call.started_at < %(before)s
     and not exists (
           select
             from operation attempt
            where attempt.scope_id = call.scope_id
              and attempt.tool_call_id = call.tool_call_id
              and attempt.user_id = call.user_id
              and attempt.parent_id is null
              and (attempt.kept or attempt.started_at >= %(before)s
                   or attempt.status in ('queued', 'quarantined', 'running')))
)
select (select count(*) from old) as calls,
       count(*) + coalesce(sum(jsonb_array_length(operation.inside)), 0)::bigint as operations,
       coalesce(sum(pg_column_size(operation.*)), 0)::bigint as size_bytes
  from old
  join lateral (
        select *
          from operation call
         where call.scope_id = old.scope_id
           and call.operation_id = old.operation_id
         union all
        select *
          from operation inside
         where inside.scope_id = old.scope_id
           and inside.parent_id = old.operation_id) as operation on true;
