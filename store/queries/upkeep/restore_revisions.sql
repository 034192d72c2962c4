-- Put revisions as they were into a scope, with what is derived of each. Tags come joined by U+001F. One without a
-- digest gets that of its text.
insert into revision
  (scope_id, tenant_id, file_id, version, rev, rev_end, path, content, sha256, operation, deleted, counterpart, reason,
   actor, channel, tool_call_id, created_at, title, tags, tag_keys, size_chars, path_key, name_key, pinned, dated,
   origin, said_at, about, valid)
select %(scope_id)s::bigint, %(tenant_id)s::bigint, put.file_id, put.version, put.rev, put.rev_end, put.path,
       put.content, coalesce(put.sha256, sha256(convert_to(put.content, 'UTF8'))), put.operation, put.deleted,
       put.counterpart, put.reason, put.actor, put.channel, put.tool_call_id, put.created_at, put.title,
       string_to_array(put.tags, chr(31)), string_to_array(put.tag_keys, chr(31)), put.size_chars, put.path_key,
       put.name_key, put.pinned, put.dated, put.origin, put.said_at, put.about, put.valid
  from unnest(%(file_ids)s::bigint[], %(versions)s::integer[], %(revs)s::bigint[], %(rev_ends)s::bigint[],
              %(paths)s::text[], %(contents)s::text[], %(operations)s::text[], %(deleteds)s::boolean[],
              %(counterparts)s::text[], %(reasons)s::text[], %(actors)s::text[], %(channels)s::text[],
              %(tool_call_ids)s::text[], %(created_ats)s::timestamptz[], %(sha256s)s::bytea[], %(titles)s::text[],
              %(tags)s::text[], %(tag_keys)s::text[], %(size_chars)s::integer[], %(path_keys)s::text[],
              %(name_keys)s::text[], %(pinned)s::boolean[], %(dated)s::date[], %(origins)s::text[],
              %(said_ats)s::timestamptz[], %(abouts)s::text[], %(valids)s::daterange[])
       as put (file_id, version, rev, rev_end, path, content, operation, deleted, counterpart, reason, actor, channel,
               tool_call_id, created_at, sha256, title, tags, tag_keys, size_chars, path_key, name_key, pinned,
               dated, origin, said_at, about, valid);
