-- In how many scopes the index was made for each language by each version; null before a scope's first write.
select language, analyzer, count(*) as scopes
  from scope
 where kind <> 'admin'
 group by language, analyzer;
