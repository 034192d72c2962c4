-- The file that stood at a path after a scope's change `rev`. No row when none did.
select file_id, version, rev, rev_end, path, content, sha256, operation, deleted, counterpart, reason, actor, channel,
       tool_call_id, created_at, title, tags, size_chars, about, thinned
  from revision
 where scope_id = %(scope_id)s
   and path = %(path)s
   and rev <= %(rev)s
   and (rev_end is null or rev_end > %(rev)s)
   and not deleted
 order by version desc
 limit 1;
