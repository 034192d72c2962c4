-- The entries of a journal whose paths begin with `prefix`, in the order of their times, after one of them: the words as
-- they stand now, who told them and under which call, and when they were told again.
select entry.path, entry.version, entry.content, entry.origin, entry.said_at, entry.about, first.actor, first.channel,
       first.tool_call_id, first.created_at,
       coalesce((select jsonb_agg(jsonb_build_object('said_at', again.said_at, 'tool_call_id', again.tool_call_id)
                                  order by again.said_at, again.tool_call_id)
                   from told_again again
                  where again.scope_id = entry.scope_id
                    and again.path = entry.path
                    and again.taken_back_in is null), '[]') as told_again
  from revision entry
 cross join lateral (
        select *
          from revision
         where revision.scope_id = entry.scope_id
           and revision.path = entry.path
         order by revision.version
         limit 1) as first
 where entry.scope_id = %(scope_id)s
   and entry.path > %(after)s
   and entry.path >= %(prefix)s
   and entry.path < %(prefix)s || repeat(chr(1114111), 512)
   and entry.origin is not null
   and entry.rev_end is null
   and not entry.deleted
 order by entry.path
 limit %(limit)s;
