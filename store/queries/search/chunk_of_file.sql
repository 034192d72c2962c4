-- The first chunks of the files that stand at these paths, with how often each lexeme of a query stands in them: null
-- where none does. Beside the first chunk of each file stands its text, if it has no more characters than is said beside
-- its path. A file is the first from its path on, as in search/chunk_alone.
select head.path, head.version, head.size_chars, chunk.start_char, chunk.end_char, chunk.heading_path, chunk.length,
       case when chunk.lexemes && %(lexemes)s::text[] then
         array(select coalesce(chunk.tfs[array_position(chunk.lexemes, lexeme)], 0)
               from unnest(%(lexemes)s::text[]) as lexeme)
       end as tfs,
       case when chunk.place = 1 and head.size_chars <= wanted.size_chars then head.content end as content
  from unnest(%(paths)s::text[], %(sizes)s::integer[]) with ordinality as wanted (path, size_chars, place)
 cross join lateral (
        select *
          from revision
         where revision.scope_id = %(scope_id)s
           and revision.path >= wanted.path
           and revision.rev_end is null
           and not revision.deleted
         order by revision.path
         limit 1) as head
 cross join lateral (
        select chunk.*, row_number() over (order by chunk.start_char) as place
          from chunk
         where chunk.scope_id = %(scope_id)s
           and chunk.file_id = head.file_id
         order by chunk.start_char
         limit %(limit)s) as chunk
 where head.path = wanted.path
 order by wanted.place, chunk.start_char;
