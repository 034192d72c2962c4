-- The schema of pgvector, where the search path does not lead to its types; no row if it does, or if there is none.
select namespace.nspname as schema
  from pg_extension as installed
  join pg_namespace as namespace on namespace.oid = installed.extnamespace
 where installed.extname = 'vector'
   and to_regtype('halfvec') is null;
