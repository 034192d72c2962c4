-- Views for questions in SQL of one's own (`memex query`). Row-level security of the tables behind them decides which
-- rows they show, as for everything else that acts for a user.

-- The files as they stand.
create view my_files with (security_invoker = true) as
select case scope.kind when 'project' then 'projects/' || scope.key else scope.kind end || '/' || revision.path as path,
       revision.title, revision.tags, revision.version, revision.content, revision.size_chars, revision.pinned,
       revision.dated as day, revision.actor, revision.channel, revision.tool_call_id,
       revision.created_at as updated_at
  from revision
  join scope on scope.scope_id = revision.scope_id
 where revision.rev_end is null
   and not revision.deleted;

-- Every version of every file.
create view my_revisions with (security_invoker = true) as
select case scope.kind when 'project' then 'projects/' || scope.key else scope.kind end || '/' || revision.path as path,
       revision.version, revision.operation, revision.deleted, revision.title, revision.content, revision.reason,
       revision.actor, revision.channel, revision.tool_call_id, revision.created_at
  from revision
  join scope on scope.scope_id = revision.scope_id;

-- The imported conversations.
create view my_conversations with (security_invoker = true) as
select conversation.conversation_id as id, source.kind as format, source.label as source, source.account,
       conversation.title, conversation.project, conversation.started_at, conversation.last_at,
       conversation.is_complete, conversation.imported_at
  from conversation
  join source
    on source.scope_id = conversation.scope_id
   and source.source_id = conversation.source_id;

-- Their messages.
create view my_messages with (security_invoker = true) as
select conversation.conversation_id, message.number, message.position, message.parent, message.role, message.part,
       message.author, message.text, message.said_at, message.model, message.human_authored, message.on_path,
       message.origin
  from message
  join conversation
    on conversation.scope_id = message.scope_id
   and conversation.conversation_no = message.conversation_no;

-- The calls in the log, without the operations inside them.
create view my_calls with (security_invoker = true) as
select operation.tool_call_id, operation.kind as tool, operation.status, operation.started_at, operation.duration_ms,
       operation.principal ->> 'actor' as actor, operation.error_code, operation.model, operation.request,
       operation.response, operation.saw
  from operation
 where operation.parent_id is null;
