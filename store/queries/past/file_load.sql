-- The files that stood at some paths of a scope after its change `rev`, in the order of their paths; their texts only
-- where asked.
select stood.file_id, stood.version, stood.rev, stood.rev_end, stood.path,
       case when %(with_content)s then stood.content else '' end as content,
       stood.sha256, stood.operation, stood.deleted, stood.counterpart, stood.reason, stood.actor, stood.channel,
       stood.tool_call_id, stood.created_at, stood.title, stood.tags, stood.size_chars,
       case when %(with_content)s then stood.thinned end as thinned
  from (select distinct path from unnest(%(paths)s::text[]) as named (path)) as wanted
 cross join lateral (
        select *
          from revision
         where revision.scope_id = %(scope_id)s
           and revision.path = wanted.path
           and revision.rev <= %(rev)s
           and (revision.rev_end is null or revision.rev_end > %(rev)s)
           and not revision.deleted
         order by revision.version desc
         limit 1) as stood
 order by stood.path;
