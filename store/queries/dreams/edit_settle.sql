-- Say what became of parts of a proposal that are open, or whose edits were held back. No row comes back for
-- a part about which another decision came first.
update proposal_edit
   set state = %(state)s,
       tool_call_id = coalesce(%(tool_call_id)s, tool_call_id),
       decided_at = %(now)s
 where scope_id = %(scope_id)s
   and proposal_id = %(proposal_id)s
   and part = any (%(parts)s::integer[])
   and state in ('open', 'held')
returning part;
