-- The kind and language of a scope whose lock is held, and what made its index.
select kind, language, analyzer
  from scope
 where scope_id = %(scope_id)s;
