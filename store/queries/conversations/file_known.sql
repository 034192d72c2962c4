-- Those of some files that were read to their end, and where the readers of those of these lineages have stopped.
select file.sha256, file.lineage, file.bookmark
  from conversation_file file
 where file.scope_id = %(scope_id)s
   and (file.sha256 = any (%(sha256s)s::bytea[]) or file.lineage = any (%(lineages)s::bytea[]));
