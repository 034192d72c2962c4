-- What somebody asked to forget and what holds no more, newest first: the words as a page or an entry held them last, the
-- words of the entry from which a line was made, and the text that asked. No row for what was put back or is told anew,
-- and for what the call `own_id` took out itself.
with gone as materialized (
  select found.*, seen.mount, regexp_match(found.held_in, '^(.*)@(\d+):(\d+)-(\d+)$') as held
    from unnest(%(scope_ids)s::bigint[], %(mounts)s::text[]) as seen (scope_id, mount)
   cross join lateral (
         select statement.scope_id, statement.entry_scope, statement.entry_path, statement.start_char,
                statement.end_char, statement.tool_call_id, statement.changed_at, statement.held_in
           from statement
          where statement.scope_id = seen.scope_id
            and statement.rev_end is null
            and statement.state in ('replaced', 'closed', 'forgotten', 'removed')
            and statement.state = 'forgotten'
            and statement.tool_call_id <> %(own_id)s
            and coalesce((select tombstone.rev_end is null
                            from tombstone
                           where tombstone.scope_id = statement.scope_id
                             and tombstone.line_key = statement.line_key
                           order by tombstone.rev desc
                           limit 1), true)
          order by statement.changed_at desc
          limit %(limit)s) as found
   order by found.changed_at desc
   limit %(limit)s
)
select (select substring(stored.content from gone.held[3]::integer + 1
                         for gone.held[4]::integer - gone.held[3]::integer)
          from revision as stored
         where stored.scope_id = gone.scope_id
           and stored.path = substr(gone.held[1], length(gone.mount) + 2)
           and stored.version = gone.held[2]::integer
           and not stored.deleted) as line,
       (select substring(entry.content from gone.start_char + 1 for gone.end_char - gone.start_char)
          from revision as entry
         where entry.scope_id = gone.entry_scope
           and entry.path = gone.entry_path
           and not entry.deleted
           and substring(entry.content from gone.start_char + 1 for gone.end_char - gone.start_char) ~ '\S'
         order by entry.version desc
         limit 1) as words,
       (select asked.request ->> 'text'
          from (select operation.*
                  from operation
                 where operation.scope_id = any (%(log_ids)s::bigint[])
                   and operation.tool_call_id = gone.tool_call_id
                offset 0) as asked
         where asked.parent_id is null
         order by asked.operation_id desc
         limit 1) as request
  from gone
 order by gone.changed_at desc;
