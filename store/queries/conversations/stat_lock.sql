-- What a scope of conversations holds, locked until the end of the transaction.
select salt, conversations, messages, text_bytes, next_id
  from conversation_stat
 where scope_id = %(scope_id)s
   for update;
