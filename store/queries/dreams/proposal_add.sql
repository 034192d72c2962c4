-- Keep a proposal with its edits, in the place of what earlier ones held back. No row comes back if another one is open
-- in the scope.
with kept as (
  insert into proposal (scope_id, tenant_id, proposal_id, made_at, rev, planner, counts, listed, gate)
  select %(scope_id)s, %(tenant_id)s, %(proposal_id)s, %(made_at)s, %(rev)s, %(planner)s, %(counts)s::jsonb,
         %(listed)s::jsonb, %(gate)s::jsonb
   where not exists (
         select
           from proposal_edit
           join proposal using (scope_id, proposal_id)
          where proposal_edit.scope_id = %(scope_id)s
            and proposal_edit.state = 'open'
            and not proposal.is_expired)
  returning scope_id, tenant_id, proposal_id
),
replaced as (
  update proposal_edit
     set state = 'outdated',
         decided_at = %(made_at)s
   where scope_id = %(scope_id)s
     and state = 'held'
     and exists (select from kept)
)
insert into proposal_edit
  (scope_id, tenant_id, proposal_id, number, part, kind, path, base_version, change, removed, kept, why, state)
select kept.scope_id, kept.tenant_id, kept.proposal_id, edit.number, edit.part, edit.kind, edit.path, edit.base_version,
       edit.change, edit.removed, edit.kept, edit.why, edit.state
  from kept
 cross join jsonb_to_recordset(%(edits)s::jsonb)
         as edit (number integer, part integer, kind text, path text, base_version integer, change jsonb,
                  removed text[], kept text[], why text, state text)
returning number;
