-- Remove states of statements of a model, at most so many.
delete from statement_state
 using (select gone.scope_id, gone.statement_sha256, gone.text_sha256
          from statement_state as gone
         where gone.model = %(model)s
         limit %(limit)s) as gone
 where statement_state.scope_id = gone.scope_id
   and statement_state.model = %(model)s
   and statement_state.statement_sha256 = gone.statement_sha256
   and statement_state.text_sha256 = gone.text_sha256;
