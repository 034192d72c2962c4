-- Remove a tenant with all that these scopes, which are all of its own, and it itself hold. Its row is locked.
with revisions as (delete from revision where scope_id = any (%(scope_ids)s::bigint[])),
     links as (delete from link where scope_id = any (%(scope_ids)s::bigint[])),
     chunks as (delete from chunk where scope_id = any (%(scope_ids)s::bigint[])),
     removed as (delete from chunk_removed where scope_id = any (%(scope_ids)s::bigint[])),
     postings as (delete from posting where scope_id = any (%(scope_ids)s::bigint[])),
     operations as (delete from operation where scope_id = any (%(scope_ids)s::bigint[])),
     sources as (delete from source where scope_id = any (%(scope_ids)s::bigint[])),
     conversations as (delete from conversation where scope_id = any (%(scope_ids)s::bigint[])),
     messages as (delete from message where scope_id = any (%(scope_ids)s::bigint[])),
     gone as (delete from conversation_removed where scope_id = any (%(scope_ids)s::bigint[])),
     files as (delete from conversation_file where scope_id = any (%(scope_ids)s::bigint[])),
     counts as (delete from conversation_stat where scope_id = any (%(scope_ids)s::bigint[])),
     stats as (delete from scope_stat where scope_id = any (%(scope_ids)s::bigint[])),
     members as (delete from project_member where scope_id = any (%(scope_ids)s::bigint[])),
     scopes as (delete from scope where scope_id = any (%(scope_ids)s::bigint[])),
     quotas as (delete from quota where tenant_id = %(tenant_id)s::bigint),
     rates as (delete from write_rate where tenant_id = %(tenant_id)s::bigint),
     keys as (delete from api_key where tenant_id = %(tenant_id)s::bigint),
     prompts as (delete from prompt where tenant_id = %(tenant_id)s::bigint),
     spent as (delete from spend where tenant_id = %(tenant_id)s::bigint),
     runs as (delete from eval_run where tenant_id = %(tenant_id)s::bigint)
delete from tenant
 where tenant_id = %(tenant_id)s::bigint;
