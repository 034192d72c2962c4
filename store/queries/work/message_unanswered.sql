-- The next messages of sessions about which a reader has not answered, the session with the newest turn first, each in the
-- order of its messages; of sessions that have a place, and that went on since a time. A message about which the reader
-- gave no answer that can be used comes again after 2, 4, 8 … minutes, `max_tries` times in all. `total` counts all of
-- them. No row if there is none.
with session as (
  select conversation.conversation_no, conversation.conversation_id, conversation.last_at
    from conversation
   where conversation.scope_id = %(scope_id)s
     and (%(since)s::timestamptz is null or conversation.last_at >= %(since)s::timestamptz)
     and (conversation.folder <> ''
          or conversation.project <> ''
          or exists (
               select
                 from event
                where event.scope_id = conversation.scope_id
                  and event.conversation_id = conversation.conversation_id
                  and event.metadata ? 'label'
                  and event.kind <> 'tool'))
),
found as (
  select session.conversation_no, session.conversation_id, session.last_at, message.message_id, message.number,
         message.position, message.role = 'user' as by_human, coalesce(answer.tries, 0) as tries,
         count(*) over () as total
    from session
    join message
      on message.scope_id = %(scope_id)s
     and message.conversation_no = session.conversation_no
    left join work_answer answer
      on answer.scope_id = message.scope_id
     and answer.conversation_no = message.conversation_no
     and answer.number = message.number
     and answer.reader = %(reader)s
   where message.part = 'message'
     and message.on_path
     and (message.role = 'user' and message.human_authored or message.role = 'assistant' and message.author is null)
     and (answer.number is null
          or answer.spans is null
             and answer.tries < %(max_tries)s::integer
             and answer.answered_at + make_interval(mins => power(2, answer.tries)::integer) <= %(now)s::timestamptz)
   order by session.last_at desc nulls last, session.conversation_no desc, message.position
   limit %(limit)s::integer
)
select found.conversation_no, found.conversation_id, found.number, left(message.text, %(max_chars)s::integer) as text,
       found.by_human, found.tries, found.total
  from found
  join message
    on message.scope_id = %(scope_id)s
   and message.message_id = found.message_id
 order by found.last_at desc nulls last, found.conversation_no desc, found.position;
