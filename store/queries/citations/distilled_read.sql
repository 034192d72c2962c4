-- How far conversations have been distilled, all or those of some ids. No row for one that never was.
select conversation_id, until_number, planner, tool_call_id, distilled_at
  from distilled
 where scope_id = %(scope_id)s
   and (%(conversation_ids)s::text[] is null or conversation_id = any (%(conversation_ids)s::text[]));
