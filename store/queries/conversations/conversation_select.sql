-- The conversations that are to be removed, with what each holds, by id. A null is no filter; `before` leaves out those
-- that went on later, and those of no known time.
select conversation.conversation_no, conversation.conversation_id, conversation.title, conversation.provider_id,
       conversation.last_at, source.kind, source.label, source.account, counted.messages, counted.text_bytes
  from conversation
  join source
    on source.scope_id = conversation.scope_id
   and source.source_id = conversation.source_id
 cross join lateral (
        select count(*) as messages, coalesce(sum(octet_length(message.text)), 0)::bigint as text_bytes
          from message
         where message.scope_id = %(scope_id)s
           and message.conversation_no = conversation.conversation_no) as counted
 where conversation.scope_id = %(scope_id)s
   and (%(conversation_ids)s::text[] is null or conversation.conversation_id = any (%(conversation_ids)s::text[]))
   and (%(source)s::text is null or %(source)s = source.label)
   and (%(before)s::timestamptz is null or conversation.last_at < %(before)s)
 order by conversation.conversation_id;
