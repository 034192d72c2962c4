-- Spans of stored versions, each with the size of the whole text, in the order in which they were asked for. No row
-- for a version that is not there. Where each character is one byte, Postgres need not count the characters before a span.
select wanted.place, stored.size_chars, stored.deleted,
       case when octet_length(stored.content) = stored.size_chars then
         convert_from(substring(convert_to(stored.content, 'UTF8') from wanted.start_char + 1
                                for greatest(wanted.end_char - wanted.start_char, 0)), 'UTF8')
       else
         substring(stored.content from wanted.start_char + 1
                   for greatest(wanted.end_char - wanted.start_char, 0))
       end as text
  from unnest(%(scope_ids)s::bigint[], %(paths)s::text[], %(versions)s::integer[], %(starts)s::integer[],
              %(ends)s::integer[])
         with ordinality as wanted (scope_id, path, version, start_char, end_char, place)
 cross join lateral (
        select *
          from revision
         where revision.scope_id = wanted.scope_id
           and revision.path = wanted.path
           and revision.version = wanted.version
        offset 0) as stored
 order by wanted.place;
