-- Of these calls in a user's log, those that cannot have forgotten anything: calls of memory_remember that asked to forget
-- nothing and named no statement as outdated.
select tool_call_id
  from operation
 where scope_id = %(scope_id)s
   and tool_call_id = any (%(tool_call_ids)s::text[])
   and parent_id is null
   and kind = 'memory_remember'
   and status = 'committed'
   and not coalesce(response -> 'result' -> 'skipped', '[]') @> '[{"reason": "forget"}]'
   and coalesce(request -> 'outdated', '[]') = '[]';
