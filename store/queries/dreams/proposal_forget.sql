-- Remove the proposals of scopes in which words were erased: they may hold them, and can be made anew. No rows.
with edits as (delete from proposal_edit where scope_id = any (%(scope_ids)s::bigint[]))
delete from proposal
 where scope_id = any (%(scope_ids)s::bigint[]);
