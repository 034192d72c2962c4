-- Remove sources of which no conversation is left. No rows.
delete from source
 where scope_id = %(scope_id)s
   and not exists (
         select
           from conversation
          where conversation.scope_id = source.scope_id
            and conversation.source_id = source.source_id);
