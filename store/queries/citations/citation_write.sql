-- Store citations, each of which comes once. One that is stored already gets the newest digest and span. No rows.
insert into citation
  (scope_id, tenant_id, user_id, conversation_id, number, statement_sha256, message_sha256, start_char, end_char,
   said_at, revision, tool_call_id, cited_at)
select scope_id, %(tenant_id)s::bigint, user_id, conversation_id, number, statement_sha256, message_sha256,
       start_char, end_char, said_at, revision, tool_call_id, %(cited_at)s::timestamptz
  from unnest(%(scope_ids)s::bigint[], %(user_ids)s::text[], %(conversation_ids)s::text[], %(numbers)s::integer[],
              %(statement_sha256s)s::bytea[], %(message_sha256s)s::bytea[], %(starts)s::integer[],
              %(ends)s::integer[], %(said_ats)s::timestamptz[], %(revisions)s::text[], %(tool_call_ids)s::text[])
       as taken (scope_id, user_id, conversation_id, number, statement_sha256, message_sha256, start_char, end_char,
                 said_at, revision, tool_call_id)
 order by scope_id, conversation_id, number, statement_sha256
on conflict (scope_id, conversation_id, number, statement_sha256, user_id) do update
   set message_sha256 = excluded.message_sha256,
       start_char = excluded.start_char,
       end_char = excluded.end_char,
       said_at = excluded.said_at,
       revision = excluded.revision,
       tool_call_id = excluded.tool_call_id,
       cited_at = excluded.cited_at;
