-- Take a call of the queue for some seconds. No row comes back when it is done, or another worker has it.
update operation
   set lease_until = clock_timestamp() + make_interval(secs => %(lease_s)s),
       tries = tries + 1
 where scope_id = %(scope_id)s
   and operation_id = %(operation_id)s
   and status = 'queued'
   and (lease_until is null or lease_until < clock_timestamp())
returning scope_id, tenant_id, operation_id, tool_call_id, kind, principal, request, now, tries,
          principal ->> 'key_id' is null
          or exists (select
                       from api_key
                      where api_key.tenant_id = operation.tenant_id
                        and api_key.key_id = (operation.principal ->> 'key_id')::bigint
                        and api_key.revoked_at is null) as key_is_valid,
          user_id = ''
          or exists (select
                       from scope
                      where scope.tenant_id = operation.tenant_id
                        and scope.kind = 'user'
                        and scope.key = operation.user_id) as user_is_known;
