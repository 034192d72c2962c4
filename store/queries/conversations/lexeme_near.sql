-- Lexemes of the index that begin as one does, those of most chunks first; those of chunks that are not merged yet too.
select found.lexeme, sum(found.n)::integer as df
  from (select posting.lexeme, posting.n
          from posting
         where posting.scope_id = %(scope_id)s
           and posting.lexeme >= %(prefix)s
           and posting.lexeme < %(prefix)s || chr(1114111)
        union all
        select pending.lexeme, 1
          from scope_stat
          join chunk
            on chunk.scope_id = scope_stat.scope_id
           and chunk.chunk_id > scope_stat.merged_chunk_id
         cross join unnest(chunk.lexemes) as pending (lexeme)
         where scope_stat.scope_id = %(scope_id)s
           and starts_with(pending.lexeme, %(prefix)s)) as found
 group by found.lexeme
 order by df desc, found.lexeme
 limit 500;
