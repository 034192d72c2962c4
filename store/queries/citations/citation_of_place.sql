-- The citations of some messages in the files of some scopes, whoever owns the conversations.
select citation.scope_id, citation.user_id, citation.conversation_id, citation.number, citation.statement_sha256,
       citation.message_sha256, citation.start_char, citation.end_char, citation.said_at, citation.revision,
       citation.tool_call_id
  from unnest(%(conversation_ids)s::text[], %(numbers)s::integer[]) as wanted (conversation_id, number)
  join citation
    on citation.scope_id = any (%(scope_ids)s::bigint[])
   and citation.conversation_id = wanted.conversation_id
   and citation.number = wanted.number
 order by citation.scope_id, citation.conversation_id, citation.number, citation.statement_sha256, citation.user_id;
