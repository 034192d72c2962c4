-- Remove some documents of these scopes. Always one row: how many.
with gone as (
  delete from document
   where ctid = any (array(select old.ctid
                             from document old
                            where old.scope_id = any (%(scope_ids)s::bigint[])
                            limit %(limit)s))
     and scope_id = any (%(scope_ids)s)
  returning document_id
)
select count(*) as documents
  from gone;
