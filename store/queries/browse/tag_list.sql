-- The tags of the files of scopes, those of most files first: how many files bear each, and when the last of these
-- changed. Tags are compared without case, and each is written as most files have it.
select mode() within group (order by one.tag) as tag,
       count(distinct (revision.scope_id, revision.file_id)) as files,
       max(revision.created_at) as updated_at
  from revision
 cross join lateral unnest(revision.tags, revision.tag_keys) as one (tag, tag_key)
 where revision.scope_id = any (%(scope_ids)s::bigint[])
   and revision.rev_end is null
   and not revision.deleted
 group by one.tag_key
 order by files desc, one.tag_key
 limit %(limit)s;
