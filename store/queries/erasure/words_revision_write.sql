-- Put a version with a filler in the place of its words, and what lists and links know of it. Tags come joined by U+001F.
update revision
   set path = %(path)s::text,
       content = %(content)s::text,
       sha256 = sha256(convert_to(%(content)s::text, 'UTF8')),
       counterpart = %(counterpart)s::text,
       reason = %(reason)s::text,
       title = %(title)s::text,
       tags = string_to_array(%(tags)s::text, chr(31)),
       tag_keys = string_to_array(%(tag_keys)s::text, chr(31)),
       path_key = %(path_key)s::text,
       name_key = %(name_key)s::text,
       pinned = %(pinned)s::boolean,
       dated = %(dated)s::date,
       erased = true
 where ctid = %(ctid)s::tid
   and tableoid = %(place_table)s::bigint::oid;
