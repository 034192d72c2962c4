-- The messages of some conversations that were not read for work yet, and the first and the last `last_turns` turns of
-- each, in their order. `from_numbers` says for each conversation behind which number reading goes on. No row if there
-- are none.
select message.conversation_no, message.number, message.position, message.role, message.part, message.author,
       left(message.text, %(max_chars)s::integer) as text,
       message.human_authored, message.on_path,
       message.number > wanted.from_number as is_new
  from unnest(%(conversation_nos)s::bigint[], %(from_numbers)s::integer[]) as wanted (conversation_no, from_number)
  join message using (conversation_no)
 where message.scope_id = %(scope_id)s
   and message.part = 'message'
   and message.role in ('user', 'assistant')
   and (message.number > wanted.from_number
        or message.position >= coalesce((select turns.position
                                           from message turns
                                          where turns.scope_id = %(scope_id)s
                                            and turns.conversation_no = wanted.conversation_no
                                            and turns.on_path
                                            and turns.part = 'message'
                                            and turns.human_authored
                                          order by turns.position desc
                                         offset %(last_turns)s::integer - 1
                                          limit 1), 0)
        or message.message_id in (select first.message_id
                                    from message first
                                   where first.scope_id = %(scope_id)s
                                     and first.conversation_no = wanted.conversation_no
                                     and first.on_path
                                     and first.part = 'message'
                                     and first.human_authored
                                   order by first.position
                                   limit 1))
 order by message.conversation_no, message.position, message.number;
