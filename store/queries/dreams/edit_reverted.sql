-- Say that what a call applied of a proposal was taken back. No rows.
update proposal_edit
   set state = 'reverted'
 where scope_id = any (%(scope_ids)s::bigint[])
   and tool_call_id = %(reverted)s
   and state = 'applied';
