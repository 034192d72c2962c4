-- The prompts of one tenant, or of all, that nothing in the log names: no request to a model, and no prompt block. No row
-- when each is named.
select prompt.tenant_id, prompt.sha256
  from prompt
 where (%(tenant_id)s::bigint is null or prompt.tenant_id = %(tenant_id)s)
   and not exists (
         select
           from operation
          where operation.tenant_id = prompt.tenant_id
            and operation.prompt_sha256 = prompt.sha256)
   and (prompt.tenant_id, encode(prompt.sha256, 'hex')) not in (
         select block.tenant_id, block.config ->> 'prompt_sha256'
           from operation block
          where block.parent_id is null
            and block.config ->> 'prompt_sha256' is not null);
