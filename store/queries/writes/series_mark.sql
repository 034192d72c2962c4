-- Say that a scope has short files side by side in a numbered series, if one of these files has a neighbour: both must
-- have a single chunk of fewer than `short` lexemes. The scope's lock is held.
update scope_stat
   set has_series = true
 where scope_id = %(scope_id)s
   and exists (
       select
         from unnest(%(paths)s::text[], %(neighbours)s::text[]) as pair (path, neighbour)
        cross join lateral (
              select count(*) = 2 and bool_and(chunks.n = 1 and chunks.length < %(short)s) as are_short
                from unnest(array[pair.path, pair.neighbour]) as side (path)
               cross join lateral (
                     select *
                       from revision
                      where revision.scope_id = %(scope_id)s
                        and revision.path = side.path
                        and revision.rev_end is null
                        and not revision.deleted
                     offset 0) as head
               cross join lateral (
                     select count(*) as n, max(own.length) as length
                       from (select chunk.length
                               from chunk
                              where chunk.scope_id = %(scope_id)s
                                and chunk.file_id = head.file_id
                              limit 2) as own) as chunks) as pair_of_files
        where pair_of_files.are_short);
