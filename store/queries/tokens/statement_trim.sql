-- Remove states, of any model, of statements of texts that stand nowhere in their scope any more; at most so many.
delete from statement_state
 using (select gone.model, gone.statement_sha256, gone.text_sha256
          from statement_state as gone
         where gone.scope_id = %(scope_id)s
           and gone.text_sha256 not in (select sha256 from chunk where chunk.scope_id = %(scope_id)s)
         limit %(limit)s) as gone
 where statement_state.scope_id = %(scope_id)s
   and statement_state.model = gone.model
   and statement_state.statement_sha256 = gone.statement_sha256
   and statement_state.text_sha256 = gone.text_sha256;
