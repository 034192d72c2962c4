-- The states of statements in scopes, each once: those that one statement has in several places are the same.
select distinct on (statement_sha256) statement_sha256, signs
  from statement_state
 where scope_id = any (%(scope_ids)s::bigint[])
   and model = %(model)s
   and statement_sha256 = any (%(statement_sha256s)s::bytea[])
   and dimensions = %(dimensions)s
 order by statement_sha256;
