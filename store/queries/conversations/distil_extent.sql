-- Conversations with the number of their last message, how many messages people wrote after a number given with each,
-- and their titles; in the order in which they ended. Those without such a message come too.
select conversation.conversation_id, conversation.title, conversation.next_number - 1 as last_number, wanted.after_number,
       (select count(*)
          from message
         where message.scope_id = %(scope_id)s
           and message.conversation_no = conversation.conversation_no
           and message.number > wanted.after_number
           and message.number <= wanted.until_number
           and message.on_path
           and message.role = 'user'
           and message.human_authored)::integer as human_messages
  from unnest(%(conversation_ids)s::text[], %(afters)s::integer[], %(untils)s::integer[])
       as wanted (conversation_id, after_number, until_number)
  join conversation
    on conversation.scope_id = %(scope_id)s
   and conversation.conversation_id = wanted.conversation_id
 order by conversation.last_at nulls first, conversation.conversation_no;
