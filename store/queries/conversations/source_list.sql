-- The sources of a scope, with what there is of each.
select source.kind, source.label, source.account, source.reader_version, source.imported_at, source.skipped,
       count(distinct conversation.conversation_no) as conversations,
       count(message.message_id) filter (where message.on_path) as messages,
       count(message.message_id) filter (where message.on_path and message.human_authored) as human_messages,
       coalesce(sum(octet_length(message.text)), 0)::bigint as text_bytes,
       min(conversation.started_at) as started_at, max(conversation.last_at) as last_at
  from source
  left join conversation
    on conversation.scope_id = source.scope_id
   and conversation.source_id = source.source_id
  left join message
    on message.scope_id = conversation.scope_id
   and message.conversation_no = conversation.conversation_no
 where source.scope_id = %(scope_id)s
 group by source.source_id, source.scope_id, source.kind, source.label, source.account, source.reader_version,
          source.imported_at, source.skipped
 order by source.kind, source.label, source.account;
