-- Say that a root is being removed. The lock of the root is held. No rows.
update document_root
   set state = 'removing',
       sync = sync + 1
 where scope_id = %(scope_id)s
   and root_no = %(root_no)s;
