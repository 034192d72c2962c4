-- Forget how far scopes have token states of a model.
delete from token_progress
 where model = %(model)s;
