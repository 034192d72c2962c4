-- What a hit shows of each chunk: its text, its file's head, and how often each lexeme of the query stands in it.
select chunk.chunk_id, chunk.heading_path, chunk.length, chunk.start_char, chunk.end_char, head.version, head.title,
       head.size_chars, head.dated, head.tags, head.created_at as updated_at,
       (select first.start_char
          from chunk first
         where first.scope_id = %(scope_id)s
           and first.file_id = chunk.file_id
         order by first.start_char
         limit 1) as body_start,
       substring(head.content from chunk.start_char + 1 for chunk.end_char - chunk.start_char) as text,
       array(select coalesce(chunk.tfs[array_position(chunk.lexemes, lexeme)], 0)
               from unnest(%(lexemes)s::text[]) as lexeme) as tfs
  from unnest(%(chunk_ids)s::integer[]) as wanted (chunk_id)
 cross join lateral (
        select *
          from chunk
         where chunk.scope_id = %(scope_id)s
           and chunk.chunk_id = wanted.chunk_id
        offset 0) as chunk
 cross join lateral (
        select *
          from revision
         where revision.scope_id = chunk.scope_id
           and revision.file_id = chunk.file_id
           and revision.rev_end is null
        offset 0) as head;
