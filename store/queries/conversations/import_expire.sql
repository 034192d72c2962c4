-- End the import of a user whose process was not heard of for a while, and forget all but the newest imports. A row
-- comes back for each one that is forgotten.
with expired as (
  update conversation_import
     set state = 'cut_off', ended_at = now()
   where scope_id = %(scope_id)s
     and ended_at is null
     and heard_at < now() - make_interval(secs => %(silent_s)s)
)
delete from conversation_import
 where scope_id = %(scope_id)s
   and ended_at is not null
   and import_id not in (select import_id
                           from conversation_import
                          where scope_id = %(scope_id)s
                          order by started_at desc, import_id
                          limit %(kept)s)
returning import_id;
