-- Put what is derived beside the texts of files, where it is another than before. Tags come joined by U+001F.
update revision
   set title = derived.title,
       tags = string_to_array(derived.tags, chr(31)),
       tag_keys = string_to_array(derived.tag_keys, chr(31)),
       size_chars = derived.size_chars,
       path_key = derived.path_key,
       name_key = derived.name_key,
       pinned = derived.pinned,
       dated = derived.dated,
       valid = case when revision.origin is null then derived.valid else revision.valid end
  from unnest(%(file_ids)s::bigint[], %(titles)s::text[], %(tags)s::text[], %(tag_keys)s::text[],
              %(size_chars)s::integer[], %(path_keys)s::text[], %(name_keys)s::text[], %(pinned)s::boolean[],
              %(dated)s::date[], %(valid_days)s::daterange[])
       as derived (file_id, title, tags, tag_keys, size_chars, path_key, name_key, pinned, dated, valid)
 where revision.scope_id = %(scope_id)s
   and revision.file_id = derived.file_id
   and revision.rev_end is null
   and (revision.title, revision.tags, revision.tag_keys, revision.size_chars, revision.path_key, revision.name_key,
        revision.pinned, revision.dated, revision.valid)
       is distinct from
       (derived.title, string_to_array(derived.tags, chr(31)), string_to_array(derived.tag_keys, chr(31)),
        derived.size_chars, derived.path_key, derived.name_key, derived.pinned, derived.dated,
        case when revision.origin is null then derived.valid else revision.valid end);
