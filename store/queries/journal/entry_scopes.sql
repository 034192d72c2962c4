-- The users whose journals have entries of days before `before`, such as journal/2026-11-27, in the order of tenants and
-- users. Deleted entries count, for their words are still there.
select scope.scope_id, scope.tenant_id, scope.key as user_id
  from scope
 where scope.kind = 'user'
   and exists (
         select
           from revision
          where revision.scope_id = scope.scope_id
            and revision.path >= 'journal/'
            and revision.path < %(before)s
            and revision.origin is not null)
 order by scope.tenant_id, scope.key;
