-- Append the entries of the chunks from `first_chunk_id` on, and behind them those of `entries`, an array for each of
-- `lexemes`, 240 to a row, of which four fill a page: the last row of a lexeme is filled up, then rows are opened under
-- the first chunk that they hold. The scope's lock is held, so the place (ctid) of a last row stays true until it is
-- updated, which saves finding it by its key a second time.
with entry as materialized (
  select term.lexeme, chunk.chunk_id,
         (chunk.chunk_id::bigint << 32) | (chunk.length::bigint << 16) | term.tf as entry
    from chunk
   cross join lateral unnest(chunk.lexemes, chunk.tfs) as term (lexeme, tf)
   where chunk.scope_id = %(scope_id)s
     and chunk.chunk_id >= %(first_chunk_id)s
),
pending as materialized (
  select lexeme, array_agg(entry order by entry) as entries
    from entry
   group by lexeme
),
added as materialized (
  select lexeme, entries, cardinality(entries) as n
    from (select lexeme, pending.entries || given.entries::bigint[] as entries
            from pending
            full join unnest(string_to_array(%(lexemes)s::text, ' '), string_to_array(%(entries)s::text, ' '))
                      as given (lexeme, entries)
           using (lexeme)
          offset 0) as either
),
placed as materialized (
  select added.lexeme, added.entries, added.n, last.ctid as place,
         least(greatest(240 - coalesce(last.n, 240), 0), added.n) as fits
    from added
    left join lateral (
         select posting.ctid, posting.n
           from posting
          where posting.scope_id = %(scope_id)s
            and posting.lexeme = added.lexeme
          order by posting.segment desc
          limit 1) as last on true
),
filled as (
  update posting
     set entries = posting.entries || placed.entries[1:placed.fits],
         n = posting.n + placed.fits
    from placed
   where posting.ctid = placed.place
     and posting.scope_id is not distinct from %(scope_id)s
     and placed.fits > 0
)
insert into posting (scope_id, tenant_id, lexeme, segment, n, entries)
select %(scope_id)s::bigint, %(tenant_id)s::bigint, lexeme, (entries[first] >> 32)::integer,
       least(240, placed.n - first + 1), entries[first:first + 239]
  from placed
 cross join lateral generate_series(placed.fits + 1, placed.n, 240) as first
 order by lexeme, first;
