-- Whether a person ended the capture of a session. No row where nobody did.
select event_no
  from event
 where scope_id = %(scope_id)s
   and conversation_id = %(conversation_id)s
   and kind = 'notice'
   and metadata ->> 'capture' = 'off'
 limit 1;
