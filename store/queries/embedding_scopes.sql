-- The scopes that have texts to be embedded, or vectors that may have to go.
select scope_stat.scope_id
  from scope_stat
 where scope_stat.n > 0
    or exists (select from embedding where embedding.scope_id = scope_stat.scope_id)
 order by scope_stat.scope_id;
