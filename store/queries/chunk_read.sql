-- What a hit shows of each chunk: its text, its file's head, and how often each lexeme of the query stands in it.
select chunk.chunk_id, chunk.heading_path, chunk.length, head.version, head.title,
       substring(head.content from chunk.start_char + 1 for chunk.end_char - chunk.start_char) as text,
       array(select coalesce(chunk.tfs[array_position(chunk.lexemes, wanted)], 0)
               from unnest(%(lexemes)s::text[]) as wanted) as tfs
  from chunk
  join revision head
    on head.scope_id = chunk.scope_id
   and head.file_id = chunk.file_id
   and head.rev_end is null
 where chunk.scope_id = %(scope_id)s
   and chunk.chunk_id = any (%(chunk_ids)s::integer[]);
