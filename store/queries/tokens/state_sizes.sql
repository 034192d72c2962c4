-- How many texts have token states of each model, with how many word pieces, and what those take.
select model, count(*) as texts, coalesce(sum(octet_length(signs) / (dimensions / 8)), 0)::bigint as pieces,
       coalesce(sum(pg_column_size(signs)), 0)::bigint as size_bytes
  from token_state
 group by model
 order by model;
