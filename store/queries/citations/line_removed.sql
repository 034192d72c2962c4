-- List items that a version of a file had and the next one had not any more, with the time of the last time that this
-- happened; and without a time those of the version that stands. Versions are those of some paths up to a change of their
-- scope. What an undone call had written does not count as removed.
with version as materialized (
  select revision.scope_id, revision.file_id, revision.content,
         case when revision.rev_end <= wanted.rev then revision.rev_end end as rev_end
    from unnest(%(scope_ids)s::bigint[], %(revs)s::bigint[]) as wanted (scope_id, rev)
    join revision
      on revision.scope_id = wanted.scope_id
     and revision.path = any (%(paths)s::text[])
     and revision.rev <= wanted.rev
     and revision.thinned is null
)
, removed as (
  select gone.line, closing.created_at
    from version
   cross join lateral (
         select *
           from revision
          where revision.scope_id = version.scope_id
            and revision.file_id = version.file_id
            and revision.rev >= version.rev_end
            and revision.thinned is null
          order by revision.rev
          limit 1) as closing
   cross join lateral (
         select string_to_table(version.content, E'\n')
         except
         select string_to_table(closing.content, E'\n')) as gone (line)
   where closing.operation <> 'revert'
)
select line, max(created_at) as removed_at
  from removed
 where ltrim(line) like any (array['- %%', '* %%', '+ %%'])
 group by line
union all
select distinct line, null::timestamptz
  from version
 cross join lateral string_to_table(version.content, E'\n') as line
 where version.rev_end is null
   and ltrim(line) like any (array['- %%', '* %%', '+ %%'])
 limit %(limit)s::integer;
