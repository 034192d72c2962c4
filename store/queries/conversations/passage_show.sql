-- Passages of messages, each with who spoke, when, and the title of the conversation. No row comes back for a message
-- that was deleted.
select message.message_id, conversation.conversation_id, message.number, wanted.start_char, wanted.end_char,
       substr(message.text, wanted.start_char + 1, wanted.end_char - wanted.start_char) as text,
       message.role, message.author, message.said_at, conversation.title
  from unnest(%(message_ids)s::bigint[], %(starts)s::integer[], %(ends)s::integer[])
       as wanted (message_id, start_char, end_char)
 cross join lateral (
        select *
          from message
         where message.scope_id = %(scope_id)s
           and message.message_id = wanted.message_id
        offset 0) as message
 cross join lateral (
        select *
          from conversation
         where conversation.scope_id = %(scope_id)s
           and conversation.conversation_no = message.conversation_no
        offset 0) as conversation;
