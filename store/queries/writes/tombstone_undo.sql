-- Take back what a call said of these scopes: what it took out may come back, and what it let come back may not. The scopes
-- have their new revisions already. No rows.
with ended as (
  update tombstone
     set rev_end = scope.rev
    from scope
   where scope.scope_id = tombstone.scope_id
     and tombstone.scope_id = any (%(scope_ids)s::bigint[])
     and tombstone.tool_call_id = %(reverted)s
     and tombstone.rev_end is null
)
insert into tombstone
  (scope_id, tenant_id, line_key, strength, salt, value_digests, value_sizes, word_digests, ended_at, rev, tool_call_id)
select old.scope_id, old.tenant_id, old.line_key, old.strength, old.salt, old.value_digests, old.value_sizes,
       old.word_digests, old.ended_at, scope.rev, old.tool_call_id
  from tombstone as old
  join scope using (scope_id)
 where old.scope_id = any (%(scope_ids)s::bigint[])
   and old.lifted_in = %(reverted)s
   and not exists (
         select
           from tombstone as standing
          where standing.scope_id = old.scope_id
            and standing.line_key = old.line_key
            and standing.rev_end is null)
    on conflict do nothing;
