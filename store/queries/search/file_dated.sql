-- The days that files of a scope are of, as they stand. No row for one that says none.
select head.file_id, head.dated
  from unnest(%(file_ids)s::bigint[]) as wanted (file_id)
 cross join lateral (
        select *
          from revision
         where revision.scope_id = %(scope_id)s
           and revision.file_id = wanted.file_id
           and revision.rev_end is null
        offset 0) as head
 where head.dated is not null;
