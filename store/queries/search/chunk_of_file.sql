-- The first chunks of the files that stand at these paths, with how often each lexeme of a query stands in them: null
-- where none does. A file is the first from its path on, as in search/chunk_alone.
select head.path, head.version, head.size_chars, chunk.start_char, chunk.end_char, chunk.heading_path, chunk.length,
       case when chunk.lexemes && %(lexemes)s::text[] then
         array(select coalesce(chunk.tfs[array_position(chunk.lexemes, lexeme)], 0)
               from unnest(%(lexemes)s::text[]) as lexeme)
       end as tfs
  from unnest(%(paths)s::text[]) with ordinality as wanted (path, place)
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
        select *
          from chunk
         where chunk.scope_id = %(scope_id)s
           and chunk.file_id = head.file_id
         order by chunk.start_char
         limit %(limit)s) as chunk
 where head.path = wanted.path
 order by wanted.place, chunk.start_char;
