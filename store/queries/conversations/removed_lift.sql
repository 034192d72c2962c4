-- Let removed conversations come back. No rows.
delete from conversation_removed
 where scope_id = %(scope_id)s
   and sha256 = any (%(digests)s::bytea[]);
