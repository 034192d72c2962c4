-- Say that a scope's texts are to be compared with its vectors again, by each model. No row when none embedded it yet.
update embedding_progress
   set rev = -1
 where scope_id = %(scope_id)s
returning model;
