-- Copy the vectors of a scope to another one with the same texts. No rows.
with progress as (
  insert into embedding_progress (scope_id, tenant_id, model, rev, error, at)
  select %(to_scope)s, %(tenant_id)s, model, rev, error, at
    from embedding_progress
   where scope_id = %(from_scope)s
)
insert into embedding (scope_id, tenant_id, model, text_sha256, vector)
select %(to_scope)s, %(tenant_id)s, model, text_sha256, vector
  from embedding
 where scope_id = %(from_scope)s;
