-- Say that all that stood in a scope at `rev` has token states of a model.
insert into token_progress (scope_id, tenant_id, model, rev, error, at)
select scope_id, tenant_id, %(model)s, %(rev)s, null, clock_timestamp()
  from scope
 where scope_id = %(scope_id)s
on conflict (scope_id, model) do update
   set rev = greatest(token_progress.rev, excluded.rev),
       error = null,
       at = excluded.at;
