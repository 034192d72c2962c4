-- One stored version of a path. No row when the path never had it.
select file_id, version, rev, rev_end, path, content, sha256, operation, deleted, counterpart, reason, actor, channel,
       tool_call_id, created_at, title, tags, size_chars, thinned
  from revision
 where scope_id = %(scope_id)s
   and path = %(path)s
   and version = %(version)s;
