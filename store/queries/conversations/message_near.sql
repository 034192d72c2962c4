-- The messages on the path that stand up to `reach` places before or after some messages, and these, with their first two
-- chunks. `distance` is from the message that was asked for.
select wanted.message_id as centre_id, near.message_id, near.distance, near.number, near.position, near.role,
       near.human_authored, near.said_at, near.conversation_no, chunk.chunk_id, chunk.start_char, chunk.end_char, chunk.length
  from unnest(%(message_ids)s::bigint[], %(conversation_nos)s::bigint[], %(positions)s::integer[])
       as wanted (message_id, conversation_no, position)
 cross join lateral (
        (select other.*, row_number() over (order by other.position) as distance
           from message other
          where other.scope_id = %(scope_id)s
            and other.conversation_no = wanted.conversation_no
            and other.position > wanted.position
            and other.on_path
          order by other.position
          limit %(reach)s)
        union all
        (select other.*, -row_number() over (order by other.position desc) as distance
           from message other
          where other.scope_id = %(scope_id)s
            and other.conversation_no = wanted.conversation_no
            and other.position < wanted.position
            and other.on_path
          order by other.position desc
          limit %(reach)s)
        union all
        (select other.*, 0 as distance
           from message other
          where other.scope_id = %(scope_id)s
            and other.message_id = wanted.message_id)) as near
 cross join lateral (
        select *
          from chunk
         where chunk.scope_id = %(scope_id)s
           and chunk.file_id = near.message_id
         order by chunk.start_char
         limit 2) as chunk;
