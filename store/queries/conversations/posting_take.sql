-- Take chunks out of the postings of a scope whose lexemes are not known: every row whose chunks lie around them is read.
-- The scope's lock is held, so the place (ctid) at which a row was found stays true. No rows.
with gone as materialized (
  select chunk_id
    from unnest(%(chunk_ids)s::integer[]) as chunk_id
),
found as materialized (
  select posting.ctid as place, posting.n, kept.entries
    from posting
   cross join lateral (
          select array_agg(one.entry order by one.place) as entries
            from unnest(posting.entries) with ordinality as one (entry, place)
           where (one.entry >> 32) not in (select chunk_id from gone)) as kept
   where posting.scope_id = %(scope_id)s
     and posting.segment <= (select max(chunk_id) from gone)
     and (posting.entries[posting.n] >> 32) >= (select min(chunk_id) from gone)
),
emptied as (
  delete from posting
   using found
   where posting.ctid = found.place
     and posting.scope_id is not distinct from %(scope_id)s
     and found.entries is null
)
update posting
   set entries = found.entries,
       n = cardinality(found.entries)
  from found
 where posting.ctid = found.place
   and posting.scope_id is not distinct from %(scope_id)s
   and cardinality(found.entries) < found.n;
