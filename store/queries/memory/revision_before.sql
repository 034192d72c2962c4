-- What a file was before its revision of change `rev`, in the newest version that has its text. No row when that made the
-- file.
select file_id, version, rev, rev_end, path, content, sha256, operation, deleted, counterpart, reason, actor, channel,
       tool_call_id, created_at, title, tags, size_chars
  from revision
 where scope_id = %(scope_id)s
   and file_id = %(file_id)s
   and rev < %(rev)s
   and thinned is null
 order by rev desc
 limit 1;
