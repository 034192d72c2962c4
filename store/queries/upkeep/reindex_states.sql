-- Say that a scope's texts are to be compared with its token states again. No row when no model made any yet.
update token_progress
   set rev = -1
 where scope_id = %(scope_id)s
returning model;
