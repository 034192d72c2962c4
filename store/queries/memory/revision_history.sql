-- What stood at a path, and what its file was before it stood there, the newest first, without the text.
with stood as (
  select file_id, version, rev, rev_end, path, sha256, operation, deleted, counterpart, reason, actor, channel,
         tool_call_id, created_at, title, tags, size_chars, thinned
    from revision
   where scope_id = %(scope_id)s
     and path = %(path)s
  union
  select revision.file_id, revision.version, revision.rev, revision.rev_end, revision.path, revision.sha256,
         revision.operation, revision.deleted, revision.counterpart, revision.reason, revision.actor,
         revision.channel, revision.tool_call_id, revision.created_at, revision.title, revision.tags,
         revision.size_chars, revision.thinned
    from revision head
    join revision
      on revision.scope_id = head.scope_id
     and revision.file_id = head.file_id
   where head.scope_id = %(scope_id)s
     and head.path = %(path)s
     and head.rev_end is null
     and not head.deleted
)
select *, '' as content
  from stood
 where (rev, version, path) < (%(before)s::bigint, %(before_version)s::bigint, %(before_path)s)
 order by rev desc, version desc, path desc
 limit %(limit)s;
