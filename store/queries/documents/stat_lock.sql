-- What a scope of documents holds, locked until the end of the transaction.
select documents, text_bytes, next_version
  from document_stat
 where scope_id = %(scope_id)s
   for update;
