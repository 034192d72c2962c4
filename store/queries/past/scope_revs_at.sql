-- The number of each scope's last change at or before a time, 0 before its first. A change is never earlier than the
-- one before it, so the number is found by halving: few steps, however much has changed since.
with recursive halved as (
  select scope.scope_id, 0::bigint as low, scope.rev as high
    from scope
   where scope.scope_id = any (%(scope_ids)s::bigint[])
  union all
  select halved.scope_id,
         case when middle.is_past then middle.rev else halved.low end,
         case when middle.is_past then halved.high else middle.rev - 1 end
    from halved
   cross join lateral (
         select guess.rev,
                -- Where a change left no revision, the next one's is the time.
                coalesce((select revision.created_at
                            from revision
                           where revision.scope_id = halved.scope_id
                             and revision.rev >= guess.rev
                           order by revision.rev
                           limit 1) <= %(time)s, false) as is_past
           from (values ((halved.low + halved.high + 1) / 2)) as guess (rev)
         offset 0) as middle
   where halved.low < halved.high
)
select scope_id, low as rev
  from halved
 where low = high;
