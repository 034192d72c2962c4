-- A root by its name, locked until the end of the transaction. No row if there is none, or if the caller may not change it.
select *
  from document_root
 where scope_id = %(scope_id)s
   and name = %(name)s
   for update;
