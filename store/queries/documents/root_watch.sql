-- Say until when a client watches a root; null: it does not any more. No rows.
update document_root
   set watched_until = %(until)s
 where scope_id = %(scope_id)s
   and root_no = %(root_no)s;
