-- What people wrote in conversations after the number given with each, and up to the second one: conversation by
-- conversation, at most `limit` messages and about so many bytes, but at least one message.
with wanted as materialized (
  select conversation.conversation_no, conversation.conversation_id, wanted.place, wanted.after_number,
         wanted.until_number
    from unnest(%(conversation_ids)s::text[], %(afters)s::integer[], %(untils)s::integer[])
         with ordinality as wanted (conversation_id, after_number, until_number, place)
    join conversation
      on conversation.scope_id = %(scope_id)s
     and conversation.conversation_id = wanted.conversation_id
),
listed as materialized (
  select wanted.place, wanted.conversation_id, message.message_id, message.number,
         octet_length(message.text) as text_bytes
    from wanted
   cross join lateral (
          select message_id, number, text
            from message
           where message.scope_id = %(scope_id)s
             and message.conversation_no = wanted.conversation_no
             and message.number > wanted.after_number
             and message.number <= wanted.until_number
             and message.on_path
             and message.role = 'user'
             and message.human_authored
           order by message.number
           limit %(limit)s::integer) as message
   order by wanted.place, message.number
   limit %(limit)s::integer
),
summed as (
  select listed.*,
         sum(text_bytes) over (order by place, number) as bytes_until,
         row_number() over (order by place, number) as row_number
    from listed
)
select summed.conversation_id, message.number, message.text, message.sha256, message.said_at
  from summed
  join message
    on message.scope_id = %(scope_id)s
   and message.message_id = summed.message_id
 where summed.bytes_until <= %(max_bytes)s::bigint
    or summed.row_number = 1
 order by summed.place, summed.number;
