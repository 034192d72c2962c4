-- The files of these scopes that were changed after each one's change `rev`: where each stands now, and what it was
-- then, without its text; of one that did not stand at either moment that path is null.
select wanted.scope_id, changed.file_id, changed.path as path_now,
       stood.path, stood.version, stood.title, stood.tags, stood.tag_keys, stood.size_chars, stood.path_key,
       stood.name_key, stood.pinned, stood.dated, stood.about, stood.created_at
  from unnest(%(scope_ids)s::bigint[], %(revs)s::bigint[]) as wanted (scope_id, rev)
 cross join lateral (
        select revision.file_id, case when not revision.deleted then revision.path end as path
          from revision
         where revision.scope_id = wanted.scope_id
           and revision.rev > wanted.rev
           and revision.rev_end is null
        offset 0) as changed
  left join lateral (
        select *
          from (select *
                  from revision
                 where revision.scope_id = wanted.scope_id
                   and revision.file_id = changed.file_id
                   and revision.rev <= wanted.rev
                 order by revision.rev desc
                 limit 1) as last
         where not last.deleted) as stood on true
 order by wanted.scope_id, changed.file_id;
