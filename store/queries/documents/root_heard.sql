-- Note that a sync was heard of. The lock of the root is held. No rows.
update document_root
   set heard_at = %(now)s
 where scope_id = %(scope_id)s
   and root_no = %(root_no)s;
