-- Let a project read from another one no more. No row if it did not.
delete from project_reading
 where scope_id = %(scope_id)s
   and read_scope_id = %(read_scope_id)s
returning read_scope_id;
