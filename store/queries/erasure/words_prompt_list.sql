-- The prompts that calls in the logs of these scopes name, and no other call does.
select prompt.tenant_id, prompt.sha256, prompt.text
  from prompt
 where prompt.tenant_id = %(tenant_id)s::bigint
   and exists (select from operation
                where operation.tenant_id = prompt.tenant_id
                  and operation.prompt_sha256 = prompt.sha256
                  and operation.scope_id = any (%(scope_ids)s::bigint[]))
   and not exists (select from operation
                    where operation.tenant_id = prompt.tenant_id
                      and operation.prompt_sha256 = prompt.sha256
                      and operation.scope_id <> all (%(scope_ids)s::bigint[]));
