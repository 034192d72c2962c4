-- How many files stand in each of these scopes, and when the last of them changed; null where none stands.
select searched.scope_id, count(revision.path) as files, max(revision.created_at) as updated_at
  from unnest(%(scope_ids)s::bigint[]) as searched (scope_id)
  left join revision
    on revision.scope_id = searched.scope_id
   and revision.rev_end is null
   and not revision.deleted
 group by searched.scope_id;
