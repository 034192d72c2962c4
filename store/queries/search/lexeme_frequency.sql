-- In how many chunks of a scope each lexeme stands. No row for one that stands in none.
select wanted.lexeme, sum(posting.n)::integer as df
  from unnest(%(lexemes)s::text[]) as wanted (lexeme)
 cross join lateral (
        select posting.n
          from posting
         where posting.scope_id = %(scope_id)s
           and posting.lexeme = wanted.lexeme
        offset 0) as posting
 group by wanted.lexeme;
