-- The mounts in which a dream may begin: others made enough changes since the last dream and none lately, no proposal is
-- open, and no dream began in the last hours. Those come first that were dreamt over longest ago.
select dream.scope_id, dream.tenant_id, scope.kind, scope.key, scope.rev, dream.mode, dream.auto_kinds, dream.seen_rev
  from dream
  join scope using (scope_id)
  join tenant on tenant.tenant_id = dream.tenant_id
 where dream.mode <> 'off'
   and scope.rev >= dream.seen_rev + %(least)s
   and scope.closed_at is null
   and tenant.expires_at is null
   and (dream.paused_until is null or dream.paused_until <= %(now)s)
   and (dream.dreamt_at is null or dream.dreamt_at <= %(dreamt_before)s)
   and (dream.lease_until is null or dream.lease_until <= %(now)s)
   and not exists (
         select
           from proposal_edit
           join proposal using (scope_id, proposal_id)
          where proposal_edit.scope_id = dream.scope_id
            and proposal_edit.state = 'open'
            and not proposal.is_expired)
   and (select count(*)
          from (select
                  from revision
                 where revision.scope_id = dream.scope_id
                   and revision.rev > dream.seen_rev
                   and revision.channel <> 'dream'
                 limit %(least)s) as changed) >= %(least)s
   and not exists (
         select
           from revision
          where revision.scope_id = dream.scope_id
            and revision.rev > dream.seen_rev
            and revision.channel <> 'dream'
            and revision.created_at > %(quiet_since)s)
 order by dream.dreamt_at nulls first, dream.scope_id
 limit %(limit)s;
