-- Passages of messages by the ids of their conversations and their numbers, each with who spoke, when, and the title of
-- the conversation. No row comes back for a message that was deleted.
select conversation.conversation_id, message.number, wanted.start_char, wanted.end_char,
       substr(message.text, wanted.start_char + 1, wanted.end_char - wanted.start_char) as text,
       message.role, message.author, message.said_at, conversation.title
  from unnest(%(conversation_ids)s::text[], %(numbers)s::integer[], %(starts)s::integer[], %(ends)s::integer[])
       as wanted (conversation_id, number, start_char, end_char)
 cross join lateral (
        select *
          from conversation
         where conversation.scope_id = %(scope_id)s
           and conversation.conversation_id = wanted.conversation_id
        offset 0) as conversation
 cross join lateral (
        select *
          from message
         where message.scope_id = %(scope_id)s
           and message.conversation_no = conversation.conversation_no
           and message.number = wanted.number
        offset 0) as message;
