-- The next messages of a scope with what is indexed of them, by id: at most 500, and no more after 512 KiB of text.
select message.message_id, message.role, message.said_at, message.text, conversation.title,
       octet_length(message.text) as size_bytes
  from (select message_id,
               sum(octet_length(text)) over (order by message_id) - octet_length(text) as bytes_ahead
          from (select message_id, text
                  from message
                 where scope_id = %(scope_id)s
                   and message_id > %(after)s::bigint
                 order by message_id
                 limit 500) as page) as wanted
 cross join lateral (
        select *
          from message
         where message.scope_id = %(scope_id)s
           and message.message_id = wanted.message_id
        offset 0) as message
  join conversation
    on conversation.scope_id = %(scope_id)s
   and conversation.conversation_no = message.conversation_no
 where wanted.bytes_ahead < 512 * 1024
 order by message.message_id;
