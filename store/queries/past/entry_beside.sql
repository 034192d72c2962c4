-- As memory/entry_beside, as the journal stood after the change `rev`.
with told as (
  select path,
         array_agg(path) over around as others,
         array_agg(size_chars) over around as sizes
    from revision
   where scope_id = %(scope_id)s
     and left(path, 18) = any (select left(wanted.path, 18) from unnest(%(paths)s::text[]) as wanted (path))
     and origin is not null
     and (%(about)s::text is null or about is null or about = %(about)s)
     and rev <= %(rev)s
     and (rev_end is null or rev_end > %(rev)s)
     and not deleted
  window around as (
    partition by left(path, 18) order by path
    rows between %(reach)s::bigint preceding and %(reach)s::bigint following exclude current row)
)
select path, others, sizes
  from told
 where path = any (%(paths)s::text[])
   and others is not null;
