-- Remove some messages of conversations of these scopes. Always one row: how many.
with gone as (
  delete from message
   where ctid = any (array(select old.ctid
                             from message old
                            where old.scope_id = any (%(scope_ids)s::bigint[])
                            limit %(limit)s))
     and scope_id = any (%(scope_ids)s)
  returning message_id
)
select count(*) as messages
  from gone;
