-- The files that stand at some paths of a scope now, in the order of their paths; their texts only where asked.
select file_id, version, rev, rev_end, path,
       case when %(with_content)s then content else '' end as content,
       sha256, operation, deleted, counterpart, reason, actor, channel, tool_call_id, created_at, title, tags,
       size_chars
  from revision
 where scope_id = %(scope_id)s
   and path = any (%(paths)s::text[])
   and rev_end is null
   and not deleted
 order by path;
