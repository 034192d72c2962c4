-- What a hit shows of each chunk: its text, its file's head, and how often the lexemes of the query stand in it.
select chunk.chunk_id, chunk.heading_path, chunk.length, head.version, head.title,
       substring(head.content from chunk.start_char + 1 for chunk.end_char - chunk.start_char) as text,
       array(select term.lexeme
               from unnest(chunk.lexemes) as term (lexeme)
              where term.lexeme = any (%(lexemes)s::text[])) as lexemes,
       array(select term.tf
               from unnest(chunk.lexemes, chunk.tfs) as term (lexeme, tf)
              where term.lexeme = any (%(lexemes)s::text[])) as tfs
  from chunk
  join revision head
    on head.scope_id = chunk.scope_id
   and head.file_id = chunk.file_id
   and head.rev_end is null
 where chunk.scope_id = %(scope_id)s
   and chunk.chunk_id = any (%(chunk_ids)s::integer[]);
