-- Record that newer statements contradict older ones that stay. Pages and journal have their new revisions already. A pair
-- that was named the other way round is settled by that. No rows.
with named as materialized (
  select pair.scope_id, scope.tenant_id, scope.rev, pair.older_scope, pair.older_path,
         decode(pair.older_key, 'hex') as older_key, pair.older_start, pair.older_end, pair.newer_scope, pair.newer_path,
         decode(pair.newer_key, 'hex') as newer_key, pair.newer_start, pair.newer_end
    from jsonb_to_recordset(%(pairs)s::jsonb)
           as pair (scope_id bigint, older_scope bigint, older_path text, older_key text, older_start integer,
                    older_end integer, newer_scope bigint, newer_path text, newer_key text, newer_start integer,
                    newer_end integer)
    join scope using (scope_id)
),
again as (
  update rival as old
     set rev_end = named.rev
    from named
   where old.scope_id = named.scope_id
     and (old.older_scope, old.older_path, old.older_key) = (named.older_scope, named.older_path, named.older_key)
     and (old.newer_scope, old.newer_path, old.newer_key) = (named.newer_scope, named.newer_path, named.newer_key)
     and old.is_settled
     and old.rev_end is null
),
turned as (
  update rival as old
     set rev_end = named.rev
    from named
   where old.scope_id = named.scope_id
     and (old.older_scope, old.older_path, old.older_key) = (named.newer_scope, named.newer_path, named.newer_key)
     and (old.newer_scope, old.newer_path, old.newer_key) = (named.older_scope, named.older_path, named.older_key)
     and not old.is_settled
     and old.rev_end is null
  returning old.*, named.rev as now
)
insert into rival
  (scope_id, tenant_id, older_scope, older_path, older_key, older_start, older_end, newer_scope, newer_path, newer_key,
   newer_start, newer_end, is_settled, rev, tool_call_id)
select scope_id, tenant_id, older_scope, older_path, older_key, older_start, older_end, newer_scope, newer_path, newer_key,
       newer_start, newer_end, false, rev, %(tool_call_id)s
  from named
 where not exists (
         select
           from rival as old
          where old.scope_id = named.scope_id
            and (old.older_scope, old.older_path, old.older_key)
              = (named.older_scope, named.older_path, named.older_key)
            and (old.newer_scope, old.newer_path, old.newer_key)
              = (named.newer_scope, named.newer_path, named.newer_key)
            and not old.is_settled
            and old.rev_end is null)
union all
select scope_id, tenant_id, older_scope, older_path, older_key, older_start, older_end, newer_scope, newer_path, newer_key,
       newer_start, newer_end, true, now, %(tool_call_id)s
  from turned
    on conflict do nothing;
