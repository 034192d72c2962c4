-- Those of some conversations that are stored.
select known.conversation_no, known.conversation_id, known.next_number, known.next_position, known.is_complete,
       known.sha256, known.reader_version, known.started_at, known.last_at, known.folder, known.branch
  from unnest(%(conversation_ids)s::text[]) as wanted (conversation_id)
 cross join lateral (
        select *
          from conversation
         where conversation.scope_id = %(scope_id)s
           and conversation.conversation_id = wanted.conversation_id
        offset 0) as known;
