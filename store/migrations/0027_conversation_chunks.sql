-- Which passages a conversation has, and of which time, so that a search with filters ranks no others; and the titles
-- that it had before, under which older passages were indexed.
alter table conversation
  add column former_titles  text[] not null default '{}',
  add column first_chunk_id integer,
  add column last_chunk_id  integer,
  add column first_said_at  timestamptz,
  add column last_said_at   timestamptz;
update conversation
   set first_chunk_id = said.first_chunk_id,
       last_chunk_id = said.last_chunk_id,
       first_said_at = said.first_said_at,
       last_said_at = said.last_said_at
  from (select message.scope_id, message.conversation_no, min(chunk.chunk_id) as first_chunk_id,
               max(chunk.chunk_id) as last_chunk_id, min(message.said_at) as first_said_at,
               max(message.said_at) as last_said_at
          from message
          join chunk
            on chunk.scope_id = message.scope_id
           and chunk.file_id = message.message_id
         group by message.scope_id, message.conversation_no) as said
 where conversation.scope_id = said.scope_id
   and conversation.conversation_no = said.conversation_no;
create index conversation_said on conversation (scope_id, last_said_at)
  include (tenant_id, first_said_at, first_chunk_id, last_chunk_id);
