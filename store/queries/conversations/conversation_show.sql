-- A conversation, with how many of its messages are on the path. No row if there is none.
select conversation.conversation_id, conversation.provider_id, conversation.title, conversation.project,
       conversation.started_at, conversation.last_at, conversation.is_complete, conversation.sha256,
       conversation.reader_version, conversation.folder, conversation.branch, source.kind, source.label, source.account,
       (select count(*)
          from message
         where message.scope_id = %(scope_id)s
           and message.conversation_no = conversation.conversation_no
           and message.on_path) as messages
  from conversation
  join source
    on source.scope_id = conversation.scope_id
   and source.source_id = conversation.source_id
 where conversation.scope_id = %(scope_id)s
   and conversation.conversation_id = %(conversation_id)s;
