-- Remove token states, of any model, of texts that stand nowhere in their scope any more; at most so many.
delete from token_state
 using (select gone.model, gone.text_sha256
          from token_state as gone
         where gone.scope_id = %(scope_id)s
           and gone.text_sha256 not in (select sha256 from chunk where chunk.scope_id = %(scope_id)s)
         limit %(limit)s) as gone
 where token_state.scope_id = %(scope_id)s
   and token_state.model = gone.model
   and token_state.text_sha256 = gone.text_sha256;
