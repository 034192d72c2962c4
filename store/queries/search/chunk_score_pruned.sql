-- As chunk_score, without reading the postings of the query's common lexemes (MaxScore). The rare ones are summed.
-- Where `limit` of the first `tried` chunks pass the filters with a score above `bound`, which is more than the common
-- ones can add, no other chunk can be among the best but those within `bound` of the last; and what the common lexemes
-- add to these few is read from their chunks. No row when that is not so, or when these are more than `most`.
with summed as (
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
seen as materialized (
  select chunk_id, score
    from summed
   where not exists (
         select from unnest(%(removed)s::integer[]) as removed (chunk_id) where removed.chunk_id = summed.chunk_id)
),
best as (
  select ranked.score
    from (select chunk_id, score
            from seen
           where score > %(bound)s::bigint
           order by score desc
           limit %(tried)s::bigint) as ranked
   cross join lateral (
          select *
            from chunk
           where chunk.scope_id = %(scope_id)s
             and chunk.chunk_id = ranked.chunk_id
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
   order by ranked.score desc
   limit %(limit)s::bigint
),
threshold as materialized (
  select min(score) - %(bound)s::bigint as score
    from best
  having count(*) = %(limit)s::bigint
),
candidate as materialized (
  select seen.chunk_id, seen.score
    from threshold
    join seen on seen.score >= threshold.score
   limit %(most)s::bigint + 1
),
scored as (
  select candidate.chunk_id, chunk.file_id, chunk.start_char, chunk.end_char, chunk.length,
         candidate.score
         + coalesce((select sum((query.weight * term.tf
                                 / (term.tf + %(c2)s::float8 + %(c3)s::float8 * chunk.length))::integer)
                       from unnest(%(common)s::text[], %(common_weights)s::float8[]) as query (lexeme, weight)
                      cross join lateral (
                            select chunk.tfs[array_position(chunk.lexemes, query.lexeme)] as tf
                            offset 0) as term
                      where term.tf is not null), 0) as score
    from candidate
   cross join lateral (
          select *
            from chunk
           where chunk.scope_id = %(scope_id)s
             and chunk.chunk_id = candidate.chunk_id
          offset 0) as chunk
   where (select count(*) from candidate) <= %(most)s::bigint
   order by score desc
  offset 0
)
select scored.chunk_id, scored.score, scored.file_id, scored.start_char, scored.end_char, scored.length, head.path
  from scored
 cross join lateral (
        select *
          from revision
         where revision.scope_id = %(scope_id)s
           and revision.file_id = scored.file_id
           and revision.rev_end is null
        offset 0) as head
 where starts_with(head.path, %(prefix)s::text)
   and head.tag_keys @> %(tags)s::text[]
   and (%(dated_from)s::date is null
        or head.dated between %(dated_from)s::date and %(dated_to)s::date
        or (%(undated)s::boolean and head.dated is null))
 order by scored.score desc
 fetch first (%(limit)s::bigint) rows with ties;
