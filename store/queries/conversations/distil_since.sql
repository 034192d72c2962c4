-- The ids of conversations that went on at a time or later, and have messages after the number given with each; those
-- that ended first come first.
select conversation.conversation_id
  from conversation
  left join unnest(%(conversation_ids)s::text[], %(afters)s::integer[]) as known (conversation_id, after_number)
    on known.conversation_id = conversation.conversation_id
 where conversation.scope_id = %(scope_id)s
   and conversation.last_at >= %(since)s::timestamptz
   and conversation.next_number - 1 > coalesce(known.after_number, 0)
 order by conversation.last_at, conversation.conversation_no
 limit %(limit)s::integer;
