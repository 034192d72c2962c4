-- The best chunks of a scope by BM25, with everything that ties with the last, and where they stand.
-- Scores are sums of integers, so no order of addition can change them.
with scored as (
  select (entry >> 32)::integer as chunk_id,
         sum((query.weight * (entry & 65535)
              / ((entry & 65535) + %(c2)s::float8 + %(c3)s::float8 * ((entry >> 16) & 65535)))::integer) as score
    from unnest(%(lexemes)s::text[], %(weights)s::float8[]) as query (lexeme, weight)
    join posting
      on posting.scope_id = %(scope_id)s
     and posting.lexeme = query.lexeme
   cross join lateral unnest(posting.entries) as entry
   group by 1
   order by 2 desc
   fetch first (%(limit)s::bigint) rows with ties
)
select scored.chunk_id, scored.score, chunk.file_id, chunk.start_char, chunk.end_char, head.path
  from scored
  join chunk
    on chunk.scope_id = %(scope_id)s
   and chunk.chunk_id = scored.chunk_id
  join revision head
    on head.scope_id = %(scope_id)s
   and head.file_id = chunk.file_id
   and head.rev_end is null
 where scored.score > 0;
