-- Drop the words of events that the transcripts of these conversations have by now: they hold the same words, or go on
-- after the event. No rows.
update event
   set messages = null
 where event.scope_id = %(scope_id)s
   and event.conversation_id = any (%(conversation_ids)s::text[])
   and event.messages is not null
   and (exists (
          select
            from conversation
            join message using (scope_id, conversation_no)
           where conversation.scope_id = %(scope_id)s
             and conversation.conversation_id = event.conversation_id
             and message.said_at > event.happened_at + interval '5 seconds')
        or not exists (
          select
            from jsonb_to_recordset(event.messages) as stands (role text, text text)
           where not exists (
                   select
                     from conversation
                     join message using (scope_id, conversation_no)
                    where conversation.scope_id = %(scope_id)s
                      and conversation.conversation_id = event.conversation_id
                      and message.role = stands.role
                      and coalesce(message.said_at >= event.happened_at - interval '1 minute', true)
                      and position(btrim(stands.text, E' \t\r\n') in message.text) > 0)));
