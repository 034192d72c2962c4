-- Take the entries of a scope's removed chunks out of its postings, and forget those chunks.
with removed as (
  delete from chunk_removed
   where scope_id = %(scope_id)s
  returning chunk_id, length, lexemes, tfs
),
entry as (
  select term.lexeme, removed.chunk_id,
         (removed.chunk_id::bigint << 32) | (removed.length::bigint << 16) | term.tf as entry
    from removed
   cross join lateral unnest(removed.lexemes, removed.tfs) as term (lexeme, tf)
),
located as materialized (
  -- An entry lies in the last segment that was opened at or before its chunk. The scope's lock is held, so the
  -- place (ctid) at which a row was found stays true.
  select segment.place, array_agg(entry.entry) as entries, count(*)::integer as n
    from entry
   cross join lateral (
          select posting.ctid as place
            from posting
           where posting.scope_id = %(scope_id)s
             and posting.lexeme = entry.lexeme
             and posting.segment <= entry.chunk_id
           order by posting.segment desc
           limit 1) as segment
   group by segment.place
),
emptied as (
  delete from posting
   using located
   where posting.ctid = located.place
     and posting.scope_id is not distinct from %(scope_id)s
     and posting.n = located.n
)
update posting
   set entries = array(select kept from unnest(posting.entries) as kept where kept <> all (located.entries)),
       n = posting.n - located.n
  from located
 where posting.ctid = located.place
   and posting.scope_id is not distinct from %(scope_id)s
   and posting.n > located.n;
