-- The chunks of the files in scopes that pass the filters of a search (see chunk_best), as the elements of a bigint[]
-- that Postgres sends, a row a scope. No row for a scope where more than `few` files pass: there the best chunks are
-- looked at until enough have passed.
select searched.scope_id, coalesce(string_agg(chunk.entries, ''::bytea), ''::bytea) as chunk_ids
  from unnest(%(scope_ids)s::bigint[]) as searched (scope_id)
 cross join lateral (
        select array_agg(passing.file_id) as file_ids
          from (select head.file_id
                  from (
                       -- Pages and entries apart: with `revision_page`, no entry is read where none is looked for.
                       (select *
                          from revision
                         where revision.scope_id = searched.scope_id
                           and revision.path >= %(prefix)s
                           and revision.path < %(prefix)s || repeat(chr(1114111), 512)
                           and revision.rev_end is null
                           and not revision.deleted
                           and revision.origin is null
                        offset 0)
                        union all
                       (select *
                          from revision
                         where %(entries)s::boolean
                           and revision.scope_id = searched.scope_id
                           and revision.path >= %(prefix)s
                           and revision.path < %(prefix)s || repeat(chr(1114111), 512)
                           and revision.rev_end is null
                           and not revision.deleted
                           and revision.origin is not null
                           and (%(about)s::text is null or revision.about is null
                                or revision.about = %(about)s::text)
                        offset 0)) as head
                 where head.tag_keys @> %(tags)s::text[]
                   and (%(dated_from)s::date is null
                        or head.dated between %(dated_from)s::date and %(dated_to)s::date
                        or (%(undated)s::boolean and head.dated is null))
                 limit %(few)s::bigint + 1) as passing) as found
  left join lateral unnest(found.file_ids) as file (file_id) on true
  left join lateral (
        select substring(array_send(array_agg(own.chunk_id::bigint)) from 21) as entries
          from chunk own
         where own.scope_id = searched.scope_id
           and own.file_id = file.file_id) as chunk on true
 where coalesce(cardinality(found.file_ids), 0) <= %(few)s::bigint
 group by searched.scope_id;
