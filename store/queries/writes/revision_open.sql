-- Open one revision for each file that a commit changes, at its scope's current change and time. Tags come
-- joined by U+001F.
insert into revision
  (scope_id, tenant_id, file_id, version, rev, path, content, sha256, operation, deleted, counterpart, reason,
   actor, channel, tool_call_id, created_at, title, tags, tag_keys, size_chars, path_key, name_key, pinned,
   dated)
select opened.scope_id, %(tenant_id)s::bigint, opened.file_id, opened.version, scope.rev, opened.path, opened.content,
       sha256(convert_to(opened.content, 'UTF8')), opened.operation, opened.deleted, opened.counterpart,
       opened.reason, %(actor)s::text, %(channel)s::text, %(tool_call_id)s::text, scope.last_at, opened.title,
       string_to_array(opened.tags, chr(31)), string_to_array(opened.tag_keys, chr(31)), opened.size_chars,
       opened.path_key, opened.name_key, opened.pinned, opened.dated
  from unnest(%(scope_ids)s::bigint[], %(file_ids)s::bigint[], %(versions)s::integer[], %(paths)s::text[],
              %(contents)s::text[], %(operations)s::text[], %(deleted)s::boolean[], %(counterparts)s::text[],
              %(reasons)s::text[], %(titles)s::text[], %(tags)s::text[], %(tag_keys)s::text[],
              %(size_chars)s::integer[], %(path_keys)s::text[], %(name_keys)s::text[], %(pinned)s::boolean[],
              %(dated)s::date[])
       as opened (scope_id, file_id, version, path, content, operation, deleted, counterpart, reason, title, tags,
                  tag_keys, size_chars, path_key, name_key, pinned, dated)
 cross join lateral (
        select *
          from scope
         where scope.scope_id = opened.scope_id
        offset 0) as scope;
