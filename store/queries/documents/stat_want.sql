-- Ask the watching clients of a scope for a sync. No rows.
update document_stat
   set wanted_at = %(now)s
 where scope_id = %(scope_id)s;
