-- Note which chunks each conversation of a scope has, after an index was made anew. The scope's lock is held. No rows.
update conversation
   set first_chunk_id = said.first_chunk_id,
       last_chunk_id = said.last_chunk_id
  from (select message.conversation_no, min(chunk.chunk_id) as first_chunk_id, max(chunk.chunk_id) as last_chunk_id
          from message
          join chunk
            on chunk.scope_id = message.scope_id
           and chunk.file_id = message.message_id
         where message.scope_id = %(scope_id)s
         group by message.conversation_no) as said
 where conversation.scope_id = %(scope_id)s
   and conversation.conversation_no = said.conversation_no;
