-- The salt of removed conversations and the number of the next event, locked until the end of the transaction.
select salt, next_event
  from conversation_stat
 where scope_id = %(scope_id)s
   for update;
