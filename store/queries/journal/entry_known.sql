-- What a journal knows of texts, in their order: whether there ever was an entry at the path, or the call was counted; the
-- entry that holds the text for the same project now; and whether an entry held it and does not any more.
select exists (
         select
           from revision
          where revision.scope_id = %(scope_id)s
            and revision.path = wanted.path)
       or exists (
         select
           from told_again
          where told_again.scope_id = %(scope_id)s
            and told_again.path = holder.path
            and told_again.tool_call_id = wanted.tool_call_id) as is_made,
       holder.path as held_by,
       holder.path is null and exists (
         select
           from revision
          where revision.scope_id = %(scope_id)s
            and revision.sha256 = wanted.sha256
            and revision.origin is not null
            and not revision.deleted
            and revision.about is not distinct from wanted.about) as was_held
  from unnest(%(paths)s::text[], %(sha256s)s::bytea[], %(abouts)s::text[], %(tool_call_ids)s::text[])
         with ordinality as wanted (path, sha256, about, tool_call_id, place)
  left join lateral (
        select revision.path
          from revision
         where revision.scope_id = %(scope_id)s
           and revision.sha256 = wanted.sha256
           and revision.origin is not null
           and revision.rev_end is null
           and not revision.deleted
           and revision.about is not distinct from wanted.about
         order by revision.path
         limit 1) as holder on true
 order by wanted.place;
