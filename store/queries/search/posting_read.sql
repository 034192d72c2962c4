-- The postings of a query's lexemes in scopes: the merged ones, and behind them those of chunks that are not merged yet.
-- A row for each scope and lexeme that has any; `entries` are the elements of a bigint[] as Postgres sends them (12 bytes
-- each), in no order that counts. Chunks that were removed since the last merge are still among them: see
-- search_totals. No more chunks are pending than are counted as unmerged: said as a limit, so that even where one scope
-- is most of the table its chunks are read from the key's end, and not all.
with scope_read as (
  select scope_id
    from unnest(%(scope_ids)s::bigint[]) as scope_id
),
wanted as (
  select lexeme
    from unnest(%(lexemes)s::text[]) as lexeme
),
pending as materialized (
  select added.scope_id, added.chunk_id, added.length, added.lexemes, added.tfs
    from scope_read
   cross join lateral (
         select *
           from scope_stat
          where scope_stat.scope_id = scope_read.scope_id
            and scope_stat.unmerged > 0
         offset 0) as counted
   cross join lateral (
         select *
           from chunk
          where chunk.scope_id = counted.scope_id
            and chunk.chunk_id > counted.merged_chunk_id
          order by chunk.chunk_id desc
          limit counted.unmerged) as added
),
entry as (
  select scope_read.scope_id, wanted.lexeme, merged.entries
    from scope_read
   cross join wanted
   cross join lateral (
         select substring(array_send(posting.entries) from 21) as entries
           from posting
          where posting.scope_id = scope_read.scope_id
            and posting.lexeme = wanted.lexeme
         offset 0) as merged
  union all
  select pending.scope_id, wanted.lexeme,
         substring(array_send(array[(pending.chunk_id::bigint << 32) | (pending.length::bigint << 16) | term.tf])
                   from 21)
    from pending
   cross join wanted
   cross join lateral (
         select pending.tfs[array_position(pending.lexemes, wanted.lexeme)] as tf
         offset 0) as term
   where term.tf is not null
)
select scope_id, lexeme, string_agg(entries, ''::bytea) as entries
  from entry
 group by scope_id, lexeme;
