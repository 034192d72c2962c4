-- Say that a sync came to its end, and what the client left out. The lock of the root is held. No rows.
update document_root
   set state = 'complete',
       heard_at = %(now)s,
       completed_at = %(now)s,
       patterns = coalesce(%(patterns)s::text[], patterns),
       left_out = %(left_out)s::jsonb,
       examples = %(examples)s::jsonb
 where scope_id = %(scope_id)s
   and root_no = %(root_no)s;
