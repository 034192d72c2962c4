-- The proposals of scopes, the newest first, each with its edits in their order.
select proposal.scope_id, proposal.proposal_id, proposal.made_at, proposal.rev, proposal.planner, proposal.is_expired,
       proposal.counts, proposal.listed, proposal.gate,
       coalesce((
         select jsonb_agg(to_jsonb(edit) - 'scope_id' - 'tenant_id' - 'proposal_id' order by edit.number)
           from proposal_edit as edit
          where edit.scope_id = proposal.scope_id
            and edit.proposal_id = proposal.proposal_id), '[]') as edits
  from proposal
 where proposal.scope_id = any (%(scope_ids)s::bigint[])
   and (%(proposal_id)s::text is null or proposal.proposal_id = %(proposal_id)s)
 order by proposal.made_at desc, proposal.proposal_id
 limit %(limit)s;
