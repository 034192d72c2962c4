-- The chunks of a scope whose texts lie nearest to a vector, with everything that ties with the last, of the files
-- whose path begins with `prefix` and that bear all of `tags`. Every vector of the scope is measured: exact, and up
-- to tens of thousands faster than an index over all scopes, which would return too few. `offset 0` keeps it so, and
-- each look-up by its key. Only the nearest `bound` texts are sorted; null for all. `texts` tells how many those are.
-- With `unless_indexed`, nothing is measured of a scope that has an approximate index.
select near.texts, near.distance, chunk.chunk_id, chunk.file_id, chunk.start_char, chunk.end_char, head.path
  from (select measured.*, count(*) over () as texts
          from (select embedding.text_sha256, embedding.vector <=> %(vector)s::halfvec as distance
                  from embedding
                 where embedding.scope_id = %(scope_id)s
                   and embedding.model = %(model)s
                   and vector_dims(embedding.vector) = %(dimensions)s
                   and not (%(unless_indexed)s::boolean
                            and exists (
                                  select
                                    from embedding_hnsw as known
                                   where known.scope_id = %(scope_id)s
                                     and known.model = %(model)s
                                     and known.dimensions = %(dimensions)s))
                 order by distance, embedding.text_sha256
                 limit %(bound)s::bigint) as measured
         order by distance
        offset 0) as near
 cross join lateral (
        select *
          from chunk
         where chunk.scope_id = %(scope_id)s
           and chunk.sha256 = near.text_sha256
        offset 0) as chunk
 cross join lateral (
        select *
          from revision
         where revision.scope_id = %(scope_id)s
           and revision.file_id = chunk.file_id
           and revision.rev_end is null
           and revision.path >= %(prefix)s
           and revision.path < %(prefix)s || repeat(chr(1114111), 512)
           and revision.tag_keys @> %(tags)s::text[]
        offset 0) as head
 order by near.distance
 fetch first (%(limit)s::bigint) rows with ties;
