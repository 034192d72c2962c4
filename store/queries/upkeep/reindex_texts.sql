-- The texts of these files of a scope, as they stand, and whether each is an entry of the journal.
select head.file_id, head.path, head.content, head.origin is not null as is_entry
  from unnest(%(file_ids)s::bigint[]) as wanted (file_id)
 cross join lateral (
        select *
          from revision
         where revision.scope_id = %(scope_id)s
           and revision.file_id = wanted.file_id
           and revision.rev_end is null
        offset 0) as head
 order by head.file_id;
