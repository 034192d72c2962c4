-- The first two chunks of each file that stands at these paths, with how often each lexeme of a query stands in them.
-- A file is the first from its path on, and not the one at its path: without statistics an index of names would seem as
-- good for that, and read the whole scope each time.
select head.path, head.tag_keys, head.dated, chunk.chunk_id, chunk.file_id, chunk.start_char, chunk.end_char,
       chunk.length,
       array(select coalesce(chunk.tfs[array_position(chunk.lexemes, lexeme)], 0)
               from unnest(%(lexemes)s::text[]) as lexeme) as tfs
  from unnest(%(paths)s::text[]) as wanted (path)
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
         limit 2) as chunk
 where head.path = wanted.path;
