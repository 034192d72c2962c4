-- Which of some tables have become twice as large, and larger than `least_bytes`, since Postgres last counted their pages.
select class.relname as name
  from unnest(%(tables)s::text[]) as wanted (name)
  join pg_class class on class.oid = to_regclass(wanted.name)
 where pg_relation_size(class.oid)
       > greatest(2 * class.relpages::bigint * current_setting('block_size')::bigint, %(least_bytes)s::bigint)
 order by class.relname;
