-- Store the token states of texts that still stand in a scope. Its lock is shared, so that what erases the scope comes
-- before or after, and not between.
with locked as materialized (
  select scope_id, tenant_id
    from scope_stat
   where scope_id = %(scope_id)s
     for share
)
insert into token_state (scope_id, tenant_id, model, text_sha256, dimensions, signs)
select locked.scope_id, locked.tenant_id, %(model)s, added.sha256, %(dimensions)s, added.signs
  from locked
 cross join unnest(%(sha256s)s::bytea[], %(signs)s::bytea[]) as added (sha256, signs)
 where added.sha256 in (select sha256
                          from chunk
                         where chunk.scope_id = %(scope_id)s
                           and chunk.sha256 = any (%(sha256s)s))
on conflict (scope_id, model, text_sha256) do nothing;
