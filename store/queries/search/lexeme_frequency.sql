-- In how many chunks each lexeme stands, by the merged postings of scopes. No row for one that stands in none.
select wanted.lexeme, sum(posting.n)::integer as df
  from unnest(%(lexemes)s::text[]) as wanted (lexeme)
 cross join unnest(%(scope_ids)s::bigint[]) as searched (scope_id)
 cross join lateral (
        select posting.n
          from posting
         where posting.scope_id = searched.scope_id
           and posting.lexeme = wanted.lexeme
        offset 0) as posting
 group by wanted.lexeme;
