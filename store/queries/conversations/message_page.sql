-- Messages of a conversation in their order, from a place on. `around` names a message by its number: the page begins
-- `before` messages ahead of it. With `all_branches` those of branches that were given up come too.
with conversation_read as (
  select conversation_no
    from conversation
   where conversation.scope_id = %(scope_id)s
     and conversation.conversation_id = %(conversation_id)s
),
centre as (
  select message.position
    from message
    join conversation_read using (conversation_no)
   where message.scope_id = %(scope_id)s
     and message.number = %(around)s::integer
),
first as (
  select min(ahead.position) as position
    from (select message.position
            from message
            join conversation_read using (conversation_no)
           where message.scope_id = %(scope_id)s
             and message.position <= (select position from centre)
             and (message.on_path or %(all_branches)s::boolean or message.number = %(around)s::integer)
           order by message.position desc
           limit %(before)s::integer + 1) as ahead
)
select message.number, message.provider_id as message_provider_id, message.position, message.parent, message.role, message.part, message.author, message.text,
       message.sha256, message.said_at, message.model, message.human_authored, message.on_path, message.origin
  from message
  join conversation_read using (conversation_no)
 where message.scope_id = %(scope_id)s
   and (message.on_path or %(all_branches)s::boolean or message.number = %(around)s::integer)
   and (%(around)s::integer is null or message.position >= (select position from first))
   and (%(after_position)s::bigint is null
        or (message.position, message.number) > (%(after_position)s::bigint, %(after_number)s::bigint))
 order by message.position, message.number
 limit %(limit)s::integer;
