-- The ids of conversations of a scope that ended before a time, the newest of them first.
select conversation.conversation_id
  from conversation
 where conversation.scope_id = %(scope_id)s
   and conversation.last_at < %(before)s::timestamptz
 order by conversation.last_at desc nulls last, conversation.conversation_no desc
 limit %(limit)s::integer;
