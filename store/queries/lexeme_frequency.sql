-- In how many chunks of a scope each lexeme stands. No row for one that stands in none.
select lexeme, sum(n)::integer as df
  from posting
 where scope_id = %(scope_id)s
   and lexeme = any (%(lexemes)s::text[])
 group by lexeme;
