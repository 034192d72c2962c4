-- Let what was taken out of these scopes come back, since it is said anew or put back, as of their newest change. The locks
-- are held. No rows.
update tombstone
   set rev_end = scope.rev,
       lifted_in = %(tool_call_id)s
  from unnest(%(scope_ids)s::bigint[], %(line_keys)s::bytea[]) as lifted (scope_id, line_key)
  join scope using (scope_id)
 where tombstone.scope_id = lifted.scope_id
   and tombstone.line_key = lifted.line_key
   and tombstone.rev < scope.rev
   and tombstone.rev_end is null;
