-- The id of a source. No row if nothing was imported from it.
select source_id
  from source
 where scope_id = %(scope_id)s
   and kind = %(kind)s
   and label = %(label)s
   and account = %(account)s;
