-- The days that files of a scope are of, as they stand, and the projects that entries of the journal were told about. No
-- row for a file that says neither.
select head.file_id, head.dated, head.about
  from unnest(%(file_ids)s::bigint[]) as wanted (file_id)
 cross join lateral (
        select *
          from revision
         where revision.scope_id = %(scope_id)s
           and revision.file_id = wanted.file_id
           and revision.rev_end is null
        offset 0) as head
 where head.dated is not null
    or head.about is not null;
