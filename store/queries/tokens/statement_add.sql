-- Store the states of statements of texts that still stand in a scope. Its lock is shared, as by `state_add`.
with locked as materialized (
  select scope_id, tenant_id
    from scope_stat
   where scope_id = %(scope_id)s
     for share
)
insert into statement_state (scope_id, tenant_id, model, statement_sha256, text_sha256, dimensions, signs)
select locked.scope_id, locked.tenant_id, %(model)s, added.statement_sha256, added.text_sha256, %(dimensions)s, added.signs
  from locked
 cross join unnest(%(statement_sha256s)s::bytea[], %(text_sha256s)s::bytea[], %(signs)s::bytea[])
         as added (statement_sha256, text_sha256, signs)
 where added.text_sha256 in (select sha256
                               from chunk
                              where chunk.scope_id = %(scope_id)s
                                and chunk.sha256 = any (%(text_sha256s)s))
on conflict (scope_id, model, statement_sha256, text_sha256) do nothing;
