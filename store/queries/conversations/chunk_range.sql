-- The first and the last ids of the chunks of conversations that may hold messages which pass filters, a null being no
-- filter; each as the elements of a bigint[] that Postgres sends. Other conversations may have chunks between them.
select coalesce(substring(array_send(array_agg(conversation.first_chunk_id::bigint)) from 21), ''::bytea) as firsts,
       coalesce(substring(array_send(array_agg(conversation.last_chunk_id::bigint)) from 21), ''::bytea) as lasts
  from conversation
 where conversation.scope_id = %(scope_id)s
   and conversation.last_said_at >= coalesce(%(since)s::timestamptz, '-infinity')
   and (%(until)s::timestamptz is null or conversation.first_said_at < %(until)s)
   and conversation.first_chunk_id is not null;
