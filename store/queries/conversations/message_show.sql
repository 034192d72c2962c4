-- Messages with their conversations, and the length of a chunk of each.
select message.message_id, message.number, message.provider_id as message_provider_id,
       message.parent, message.role, message.part, message.author, message.text,
       message.sha256, message.said_at, message.model, message.human_authored, message.on_path, message.origin,
       conversation.conversation_id, conversation.provider_id, conversation.title, conversation.project,
       conversation.started_at, conversation.last_at, conversation.is_complete, source.kind, source.label,
       source.account, chunk.length
  from unnest(%(message_ids)s::bigint[], %(chunk_ids)s::integer[]) as wanted (message_id, chunk_id)
 cross join lateral (
        select *
          from message
         where message.scope_id = %(scope_id)s
           and message.message_id = wanted.message_id
        offset 0) as message
 cross join lateral (
        select *
          from conversation
         where conversation.scope_id = %(scope_id)s
           and conversation.conversation_no = message.conversation_no
        offset 0) as conversation
 cross join lateral (
        select *
          from source
         where source.scope_id = %(scope_id)s
           and source.source_id = conversation.source_id
        offset 0) as source
 cross join lateral (
        select *
          from chunk
         where chunk.scope_id = %(scope_id)s
           and chunk.chunk_id = wanted.chunk_id
        offset 0) as chunk;
