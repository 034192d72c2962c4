-- Copy what models say of the texts of a scope to another one with the same texts, so that both rank alike. No rows.
with states as (
  insert into token_state (scope_id, tenant_id, model, text_sha256, dimensions, signs)
  select %(to_scope)s, %(tenant_id)s, model, text_sha256, dimensions, signs
    from token_state
   where scope_id = %(from_scope)s
), statements as (
  insert into statement_state (scope_id, tenant_id, model, statement_sha256, text_sha256, dimensions, signs)
  select %(to_scope)s, %(tenant_id)s, model, statement_sha256, text_sha256, dimensions, signs
    from statement_state
   where scope_id = %(from_scope)s
)
insert into token_progress (scope_id, tenant_id, model, rev, error, at)
select %(to_scope)s, %(tenant_id)s, model, rev, error, at
  from token_progress
 where scope_id = %(from_scope)s;
