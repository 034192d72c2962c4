-- Remove a root that holds no documents any more. No rows.
delete from document_root
 where scope_id = %(scope_id)s
   and root_no = %(root_no)s
   and documents = 0;
