-- Begin a sync of a root whose lock is held, and return its number.
update document_root
   set sync = sync + 1,
       client = %(client)s,
       state = 'syncing',
       began_at = %(now)s,
       heard_at = %(now)s
 where scope_id = %(scope_id)s
   and root_no = %(root_no)s
returning sync;
