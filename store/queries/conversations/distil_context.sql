-- The end of what an assistant said right before messages of a user's conversations, at most `max_chars` characters.
-- No row comes back for a message that answers nothing of an assistant's.
select conversation.conversation_id, message.number, right(before.text, %(max_chars)s::integer) as text
  from unnest(%(conversation_ids)s::text[], %(numbers)s::integer[]) as wanted (conversation_id, number)
  join conversation
    on conversation.scope_id = %(scope_id)s
   and conversation.conversation_id = wanted.conversation_id
  join message
    on message.scope_id = %(scope_id)s
   and message.conversation_no = conversation.conversation_no
   and message.number = wanted.number
 cross join lateral (
        select earlier.role, earlier.text
          from message as earlier
         where earlier.scope_id = %(scope_id)s
           and earlier.conversation_no = conversation.conversation_no
           and earlier.position < message.position
           and earlier.on_path
           and earlier.role in ('user', 'assistant')
         order by earlier.position desc
         limit 1) as before
 where before.role = 'assistant';
