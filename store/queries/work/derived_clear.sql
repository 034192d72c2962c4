-- Forget what was read of conversations, so that all of it is made anew. One row with the number of conversations.
with gone as (
  delete from observation
   where scope_id = %(scope_id)s
),
unread as (
  delete from work_derived
   where scope_id = %(scope_id)s
  returning conversation_no
)
select count(*)::integer as conversations
  from unread;
