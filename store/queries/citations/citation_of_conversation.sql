-- The citations of a user's conversations in the files of some scopes.
select scope_id, user_id, conversation_id, number, statement_sha256, message_sha256, start_char, end_char, said_at,
       revision, tool_call_id
  from citation
 where scope_id = any (%(scope_ids)s::bigint[])
   and user_id = %(user_id)s
   and conversation_id = any (%(conversation_ids)s::text[])
 order by scope_id, conversation_id, number, statement_sha256;
