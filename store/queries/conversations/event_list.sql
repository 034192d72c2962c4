-- The events of some conversations, in the order of arrival. No row when there is none.
select event_no, runtime, session, turn, name, conversation_id, kind, happened_at, received_at, project, cwd, messages,
       tools, metadata
  from event
 where scope_id = %(scope_id)s
   and conversation_id = any (%(conversation_ids)s::text[])
 order by event_no
 limit %(limit)s::integer;
