-- What stood at a path, and what its file was before it stood there, the newest first, without the text.
select scope_id, file_id, version, rev, rev_end, path, '' as content, sha256, operation, deleted, counterpart, reason,
       actor, channel, tool_call_id, created_at, title, tags, size_chars
  from revision
 where scope_id = %(scope_id)s
   and (path = %(path)s
        or file_id = (select head.file_id
                        from revision head
                       where head.scope_id = %(scope_id)s
                         and head.path = %(path)s
                         and head.rev_end is null
                         and not head.deleted))
   and (%(before)s::bigint is null or (rev, version) < (%(before)s::bigint, %(before_version)s::integer))
 order by rev desc, version desc
 limit %(limit)s;
