-- The versions of a scope that stay whatever their age, as path@version with its mount: those that something of the present
-- names, an open proposal, a citation, or a call that is kept, as those of test cases are.
select distinct substring(named.reference from '^(.*@\d+)(?::\d+-\d+)?$') as name
  from scope
 cross join lateral (
        select held_in
          from statement
         where statement.scope_id = scope.scope_id
           and statement.rev_end is null
           and statement.held_in is not null
         union all
        select revision
          from citation
         where citation.scope_id = scope.scope_id
         union all
        select unnest(removed || kept || array[path || '@' || base_version])
          from proposal_edit
         where proposal_edit.scope_id = scope.scope_id
           and proposal_edit.state in ('open', 'held')
         union all
        select unnest(saw)
          from operation
         where operation.tenant_id = scope.tenant_id
           and operation.kept
         union all
        select jsonb_array_elements_text(response -> 'writes')
          from operation
         where operation.tenant_id = scope.tenant_id
           and operation.kept
           and jsonb_typeof(response -> 'writes') = 'array') as named (reference)
 where scope.scope_id = %(scope_id)s
   and named.reference is not null;
