-- Forget how far conversations have been distilled, because they were removed. No rows.
delete from distilled
 where scope_id = %(scope_id)s
   and conversation_id = any (%(conversation_ids)s::text[]);
