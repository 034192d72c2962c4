-- Committed calls of memory_remember in a user's log whose texts stand in the log as texts, after one of them, in their
-- order. A call whose words an entry holds has a reference instead, and is left out.
select operation_id, tool_call_id, request ->> 'text' as text, request ->> 'said_at' as said_at,
       coalesce(request ->> 'project', principal ->> 'project') as project, principal ->> 'actor' as actor, now,
       coalesce(response -> 'result' -> 'skipped', '[]') as skipped,
       coalesce(response -> 'writes', '[]') as writes
  from operation
 where scope_id = %(scope_id)s
   and operation_id > %(after)s
   and parent_id is null
   and kind = 'memory_remember'
   and status = 'committed'
   and jsonb_typeof(request -> 'text') = 'string'
 order by operation_id
 limit %(limit)s;
