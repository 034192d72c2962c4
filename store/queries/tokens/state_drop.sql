-- Remove token states of a model, at most so many.
delete from token_state
 using (select gone.scope_id, gone.text_sha256
          from token_state as gone
         where gone.model = %(model)s
         limit %(limit)s) as gone
 where token_state.scope_id = gone.scope_id
   and token_state.model = %(model)s
   and token_state.text_sha256 = gone.text_sha256;
