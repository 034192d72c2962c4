-- Remove vectors, of any model, of texts that stand nowhere in their scope any more; at most so many.
delete from embedding
 using (select gone.model, gone.text_sha256
          from embedding as gone
         where gone.scope_id = %(scope_id)s
           and not exists (
                 select
                   from chunk
                  where chunk.scope_id = %(scope_id)s
                    and chunk.sha256 = gone.text_sha256
                 offset 0)
         limit %(limit)s) as gone
 where embedding.scope_id = %(scope_id)s
   and embedding.model = gone.model
   and embedding.text_sha256 = gone.text_sha256;
