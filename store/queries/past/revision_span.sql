-- Spans of versions that were stored by each scope's change `rev`, each with the size of the whole text, in the order
-- in which they were asked for. No row for a version that was not there.
select wanted.place, stored.size_chars, stored.deleted,
       case when stored.thinned is not null then
         (select substring(kept.content from wanted.start_char + 1
                             + case when wanted.end_char <= stored.thinned[2] then 0
                                    else kept.size_chars - stored.size_chars end
                           for greatest(wanted.end_char - wanted.start_char, 0))
            from revision kept
           where kept.scope_id = stored.scope_id
             and kept.file_id = stored.file_id
             and kept.rev = stored.thinned[1]
             and (wanted.end_char <= stored.thinned[2]
                  or wanted.start_char >= stored.size_chars - stored.thinned[3]))
            else
         substring(stored.content from wanted.start_char + 1
                   for greatest(wanted.end_char - wanted.start_char, 0))
       end as text
  from unnest(%(scope_ids)s::bigint[], %(revs)s::bigint[], %(paths)s::text[], %(versions)s::integer[],
              %(starts)s::integer[], %(ends)s::integer[])
         with ordinality as wanted (scope_id, rev, path, version, start_char, end_char, place)
 cross join lateral (
        select *
          from revision
         where revision.scope_id = wanted.scope_id
           and revision.path = wanted.path
           and revision.version = wanted.version
        offset 0) as stored
 where stored.rev <= wanted.rev
 order by wanted.place;
