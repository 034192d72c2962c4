-- Those of some files that were read to their end.
select file.sha256
  from conversation_file file
 where file.scope_id = %(scope_id)s
   and file.sha256 = any (%(sha256s)s::bytea[]);
