-- Where chunks stand that scored: those of messages that pass the filters, a null being no filter. In no order.
-- Conversations and sources are looked up only for a filter that needs them.
select scored.score, scored.chunk_id, chunk.start_char, chunk.end_char, chunk.length, message.message_id,
       message.conversation_no, message.number, message.position, message.on_path
  from unnest(%(chunk_ids)s::integer[], %(scores)s::bigint[]) as scored (chunk_id, score)
 cross join lateral (
        select *
          from chunk
         where chunk.scope_id = %(scope_id)s
           and chunk.chunk_id = scored.chunk_id
        offset 0) as chunk
 cross join lateral (
        select *
          from message
         where message.scope_id = %(scope_id)s
           and message.message_id = chunk.file_id
        offset 0) as message
  left join lateral (
        select *
          from conversation
         where coalesce(%(source)s::text, %(project)s::text, %(conversation_id)s::text) is not null
           and conversation.scope_id = %(scope_id)s
           and conversation.conversation_no = message.conversation_no
        offset 0) as conversation on true
  left join lateral (
        select *
          from source
         where %(source)s::text is not null
           and source.scope_id = %(scope_id)s
           and source.source_id = conversation.source_id
        offset 0) as source on true
 where (message.on_path or %(all_branches)s::boolean)
   and (%(source)s::text is null or %(source)s in (source.label, source.kind))
   and (%(project)s::text is null or conversation.project = %(project)s)
   and (%(role)s::text is null or message.role = %(role)s)
   and (not %(human)s::boolean or message.human_authored)
   and (%(since)s::timestamptz is null or message.said_at >= %(since)s)
   and (%(until)s::timestamptz is null or message.said_at < %(until)s)
   and (%(conversation_id)s::text is null or conversation.conversation_id = %(conversation_id)s);
