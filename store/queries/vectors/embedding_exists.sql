-- Whether a model has embedded anything. Always one row.
select exists (select from embedding where embedding.model = %(model)s) as is_embedded;
