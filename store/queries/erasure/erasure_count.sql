-- What would be removed with a user. Always one row.
with own as (
  select scope_id
    from scope
   where tenant_id = %(tenant_id)s::bigint
     and kind in ('user', 'conversations', 'documents')
     and key = %(user_id)s::text
)
, calls as (
  select operation.scope_id, operation.operation_id, operation.status, operation.response, operation.inside
    from operation
   where operation.parent_id is null
     and operation.scope_id in (select scope_id from own)
  union all
  select operation.scope_id, operation.operation_id, operation.status, operation.response, operation.inside
    from operation
   where operation.parent_id is null
     and operation.user_id = %(user_id)s
     and operation.scope_id in (select scope_id
                                  from scope
                                 where tenant_id = %(tenant_id)s
                                   and kind not in ('user', 'conversations', 'documents'))
)
, keys as (
  select key_id
    from api_key
   where tenant_id = %(tenant_id)s
     and user_id = %(user_id)s
)
select exists (select from own) as has_memory,
       (select count(*) from revision where scope_id in (select scope_id from own) and rev_end is null and not deleted)
         as files,
       (select count(*) from revision where scope_id in (select scope_id from own)) as revisions,
       (select count(*) from chunk where scope_id in (select scope_id from own)) as passages,
       (select count(*) from conversation where scope_id in (select scope_id from own)) as conversations,
       (select count(*) from message where scope_id in (select scope_id from own)) as messages,
       (select count(*) from document where scope_id in (select scope_id from own)) as documents,
       (select count(*) from calls) as calls,
       (select count(*)
          from calls
          join operation on operation.scope_id = calls.scope_id and operation.parent_id = calls.operation_id)
         + (select count(*) + coalesce(sum(jsonb_array_length(inside)), 0)::bigint from calls) as log_rows,
       (select count(*) from calls where status in ('queued', 'quarantined')) as queued,
       (select count(distinct named.value)
          from calls
         cross join lateral jsonb_array_elements_text(
                 case when jsonb_typeof(calls.response -> 'writes') = 'array'
                      then calls.response -> 'writes' else '[]' end) as named (value)
         where calls.status = 'committed'
           and named.value ~ '^(shared|projects/[^/]+)/') as revisions_of_others,
       (select count(*) from keys) as keys,
       (select count(*) from project_member where tenant_id = %(tenant_id)s and user_id = %(user_id)s) as memberships,
       (select count(*)
          from ui_session
         where tenant_id = %(tenant_id)s
           and (role = 'agent' and user_id = %(user_id)s or key_id in (select key_id from keys))) as sessions,
       (select count(*) from quota where tenant_id = %(tenant_id)s and kind = 'user' and key = %(user_id)s) as quotas;
