-- The calls of a user, with the requests to models inside them, and those of others that saw or wrote one of these versions;
-- locked.
with logs as (
  select scope_id
    from scope
   where tenant_id = %(tenant_id)s::bigint
     and kind in ('admin', 'visitor')
)
, others as (
  select scope_id, operation_id
    from operation
   where cardinality(%(touched)s::text[]) > 0
     and tenant_id = %(tenant_id)s::bigint
     and parent_id is null
     and (saw && %(touched)s::text[] or response -> 'writes' ?| %(touched)s::text[])
)
select tableoid::bigint as place_table, ctid::text as ctid, tool_call_id, kind, parent_id is null as is_call, request, response, inside, config, saw, prompt_sha256
  from operation
 where scope_id = any (%(scope_ids)s::bigint[])
    or scope_id in (select scope_id from logs) and user_id = %(user_id)s::text
    or (scope_id, coalesce(parent_id, operation_id)) in (select scope_id, operation_id from others)
   for update;
