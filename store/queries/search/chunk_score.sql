-- The best chunks of a scope by BM25, with everything that ties with the last, and where they stand. Not of `removed`
-- chunks, and of those files only whose path begins with `prefix`, that bear all of `tags`, and are of a day from
-- `dated_from` to `dated_to`, or `undated`; a null is no filter. The weights are those of the whole scope: a filter does
-- not change what a word is worth. Where up to `few` files pass the filters their chunks are listed first; else chunks
-- are looked up from the best on, until enough have passed. `few` is 0 where nothing is filtered.
-- Scores are sums of integers, so no order of addition can change them. `offset 0` keeps each look-up by its key: one
-- plan serves scopes of all sizes, and for an average one reading it whole would seem cheaper.
with passing as materialized (
  select file_id
    from revision
   where scope_id = %(scope_id)s
     and rev_end is null
     and not deleted
     and path >= %(prefix)s
     and path < %(prefix)s || repeat(chr(1114111), 512)
     and tag_keys @> %(tags)s::text[]
     and (%(dated_from)s::date is null
          or dated between %(dated_from)s::date and %(dated_to)s::date
          or (%(undated)s::boolean and dated is null))
   limit case when %(few)s::bigint > 0 then %(few)s::bigint + 1 else 0 end
),
chosen as materialized (
  select %(few)s::bigint > 0 and count(*) <= %(few)s::bigint as are_few
    from passing
),
allowed as materialized (
  select chunk.chunk_id
    from passing
   cross join lateral (
         select *
           from chunk
          where chunk.scope_id = %(scope_id)s
            and chunk.file_id = passing.file_id
         offset 0) as chunk
   where (select are_few from chosen)
),
summed as (
  select (entry >> 32)::integer as chunk_id,
         sum((query.weight * (entry & 65535)
              / ((entry & 65535) + %(c2)s::float8 + %(c3)s::float8 * ((entry >> 16) & 65535)))::integer) as score
    from unnest(%(lexemes)s::text[], %(weights)s::float8[]) as query (lexeme, weight)
   cross join lateral (
         select posting.entries
           from posting
          where posting.scope_id = %(scope_id)s
            and posting.lexeme = query.lexeme
         offset 0) as posting
   cross join lateral unnest(posting.entries) as entry
   group by 1
),
scored as (
  select chunk_id, score
    from summed
   where score > 0
     and not exists (
         select from unnest(%(removed)s::integer[]) as removed (chunk_id) where removed.chunk_id = summed.chunk_id)
     and ((select not are_few from chosen) or chunk_id in (select chunk_id from allowed))
   order by score desc
  offset 0
)
select scored.chunk_id, scored.score, chunk.file_id, chunk.start_char, chunk.end_char, chunk.length, head.path
  from scored
 cross join lateral (
        select *
          from chunk
         where chunk.scope_id = %(scope_id)s
           and chunk.chunk_id = scored.chunk_id
        offset 0) as chunk
 cross join lateral (
        select *
          from revision
         where revision.scope_id = %(scope_id)s
           and revision.file_id = chunk.file_id
           and revision.rev_end is null
        offset 0) as head
 where starts_with(head.path, %(prefix)s::text)
   and head.tag_keys @> %(tags)s::text[]
   and (%(dated_from)s::date is null
        or head.dated between %(dated_from)s::date and %(dated_to)s::date
        or (%(undated)s::boolean and head.dated is null))
 order by scored.score desc
 fetch first (%(limit)s::bigint) rows with ties;
