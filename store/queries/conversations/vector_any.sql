-- Whether a scope has a vector of a model. Always one row.
select exists (
         select
           from embedding
          where embedding.scope_id = %(scope_id)s
            and embedding.model = %(model)s) as is_embedded;
