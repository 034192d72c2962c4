-- Say that a scope has an approximate index from now on.
insert into embedding_hnsw (scope_id, tenant_id, model, dimensions)
select scope_id, tenant_id, %(model)s, %(dimensions)s
  from scope
 where scope_id = %(scope_id)s
on conflict (scope_id, model) do update
   set dimensions = excluded.dimensions,
       built_at = clock_timestamp();
