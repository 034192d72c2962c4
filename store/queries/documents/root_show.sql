-- A root by its name. No row if there is none.
select *
  from document_root
 where scope_id = %(scope_id)s
   and name = %(name)s;
