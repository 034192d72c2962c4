-- Say what a run over a scope failed with; how far it has states stays as it was.
insert into token_progress (scope_id, tenant_id, model, rev, error, at)
select scope_id, tenant_id, %(model)s, -1, %(error)s, clock_timestamp()
  from scope
 where scope_id = %(scope_id)s
on conflict (scope_id, model) do update
   set error = excluded.error,
       at = excluded.at;
