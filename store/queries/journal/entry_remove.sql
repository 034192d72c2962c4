-- Remove deleted entries of a journal for good: all their versions, when they were told again, which lines were made of
-- them, and what contradicts them. One that stands again stays. What the scope stores is counted anew by its next change.
-- Always one row: how many entries went.
with gone as materialized (
  select wanted.path
    from unnest(%(paths)s::text[]) as wanted (path)
   where not exists (
         select
           from revision
          where revision.scope_id = %(scope_id)s
            and revision.path = wanted.path
            and revision.rev_end is null
            and not revision.deleted)
)
, removed as (
  delete from revision
   using gone
   where revision.scope_id = %(scope_id)s
     and revision.path = gone.path
     and revision.origin is not null
  returning revision.path
)
, retold as (
  delete from told_again
   using gone
   where told_again.scope_id = %(scope_id)s
     and told_again.path = gone.path
)
, stated as (
  delete from statement
   using gone
   where statement.entry_scope = %(scope_id)s
     and statement.entry_path = gone.path
)
, rivals as (
  delete from rival
   using gone
   where (rival.older_scope = %(scope_id)s and rival.older_path = gone.path)
      or (rival.newer_scope = %(scope_id)s and rival.newer_path = gone.path)
)
, uncounted as (
  update scope
     set counted_rev = -1
   where scope_id = %(scope_id)s
)
select count(distinct path) as entries
  from removed;
