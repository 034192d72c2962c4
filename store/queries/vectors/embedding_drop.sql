-- Remove vectors of a model, at most so many.
delete from embedding
 using (select gone.scope_id, gone.text_sha256
          from embedding as gone
         where gone.model = %(model)s
         limit %(limit)s) as gone
 where embedding.scope_id = gone.scope_id
   and embedding.model = %(model)s
   and embedding.text_sha256 = gone.text_sha256;
