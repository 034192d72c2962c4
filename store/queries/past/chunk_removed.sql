-- The chunks that files have now, with how often each lexeme of a query stands in them.
select chunk.chunk_id, chunk.length,
       array(select coalesce(chunk.tfs[array_position(chunk.lexemes, lexeme)], 0)
               from unnest(%(lexemes)s::text[]) as lexeme) as tfs
  from unnest(%(file_ids)s::bigint[]) as changed (file_id)
 cross join lateral (
        select *
          from chunk
         where chunk.scope_id = %(scope_id)s
           and chunk.file_id = changed.file_id
        offset 0) as chunk;
