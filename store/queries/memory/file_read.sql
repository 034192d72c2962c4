-- The file that stands at a path now. No row when none does.
select file_id, version, rev, rev_end, path, content, sha256, operation, deleted, counterpart, reason, actor, channel,
       tool_call_id, created_at, title, tags, size_chars, about
  from revision
 where scope_id = %(scope_id)s
   and path = %(path)s
   and rev_end is null
   and not deleted;
