-- Store vectors of texts that still stand in a scope. Its lock is shared, so that what erases the scope comes before
-- or after, and not between.
with locked as materialized (
  select scope_id, tenant_id
    from scope_stat
   where scope_id = %(scope_id)s
     for share
)
insert into embedding (scope_id, tenant_id, model, text_sha256, vector)
select locked.scope_id, locked.tenant_id, %(model)s, added.sha256, added.vector::halfvec
  from locked
 cross join unnest(%(sha256s)s::bytea[], %(vectors)s::text[]) as added (sha256, vector)
 where exists (
         select
           from chunk
          where chunk.scope_id = locked.scope_id
            and chunk.sha256 = added.sha256
         offset 0)
on conflict (scope_id, model, text_sha256) do nothing;
