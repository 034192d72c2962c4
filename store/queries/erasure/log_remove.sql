-- Remove some calls of a user, with what is inside them: all those in the logs of the user's scopes, and in the logs that
-- many share those for the user. What the calls wrote in shared files and projects stays, without who wrote it, why, and
-- under which call. Always one row: how many calls, operations and queued texts went, and how many revisions stay.
with old as (
  (select scope_id, operation_id
     from operation
    where scope_id = any (%(scope_ids)s::bigint[])
      and parent_id is null
    limit %(limit)s)
  union all
  (select scope_id, operation_id
     from operation
    where scope_id = any (array(select scope.scope_id
                                  from scope
                                 where scope.tenant_id = %(tenant_id)s::bigint
                                   and scope.kind not in ('user', 'conversations', 'documents')))
      and user_id = %(user_id)s::text
      and parent_id is null
    limit %(limit)s)
)
, inside as (
  delete from operation
   using old
   where operation.scope_id = old.scope_id
     and operation.parent_id = old.operation_id
  returning operation.operation_id
)
, called as (
  delete from operation
   using old
   where operation.scope_id = old.scope_id
     and operation.operation_id = old.operation_id
  returning operation.status, operation.response,
            coalesce(jsonb_array_length(operation.inside), 0) as held
)
, written as (
  select distinct written.reference[1] as mount, written.reference[2] as path, written.reference[3]::integer as version
    from called
   cross join lateral jsonb_array_elements_text(
           case when jsonb_typeof(called.response -> 'writes') = 'array'
                then called.response -> 'writes' else '[]' end) as named (value)
   cross join lateral regexp_match(named.value, '^(shared|projects/[^/]+)/(.+)@([0-9]+)$')
           as written (reference)
   where called.status = 'committed'
     and written.reference is not null
)
, anonymous as (
  update revision
     set actor = %(author)s::text,
         reason = null,
         tool_call_id = %(tool_call_id)s::text,
         counterpart = case when revision.counterpart like 'user/%%' then null else revision.counterpart end
    from written
    join scope on scope.tenant_id = %(tenant_id)s
              and scope.kind = case written.mount when 'shared' then 'shared' else 'project' end
              and scope.key = case written.mount when 'shared' then '' else substr(written.mount, 10) end
   where revision.scope_id = scope.scope_id
     and revision.path = written.path
     and revision.version = written.version
  returning revision.scope_id, revision.file_id, revision.rev
)
, stated as (
  -- What became of lines in these files is told by the same call.
  update statement
     set tool_call_id = %(tool_call_id)s::text
    from anonymous
   where statement.scope_id = anonymous.scope_id
     and statement.file_id = anonymous.file_id
     and statement.rev = anonymous.rev
)
, named as (
  update rival
     set tool_call_id = %(tool_call_id)s::text
    from anonymous
   where rival.scope_id = anonymous.scope_id
     and rival.rev = anonymous.rev
)
, forgotten as (
  update tombstone
     set tool_call_id = %(tool_call_id)s::text
    from anonymous
   where tombstone.scope_id = anonymous.scope_id
     and tombstone.rev = anonymous.rev
)
select (select count(*) from called) as calls,
       (select count(*) + coalesce(sum(held), 0)::bigint from called)
         + (select count(*) from inside) as log_rows,
       (select count(*) from called where status in ('queued', 'quarantined')) as queued,
       (select count(*) from anonymous) as revisions_of_others;
