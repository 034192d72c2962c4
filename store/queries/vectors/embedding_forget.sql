-- Forget how far scopes are embedded by a model.
delete from embedding_progress
 where model = %(model)s;
