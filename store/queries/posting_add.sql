-- Append the entries of the chunks from `first_chunk_id` on, 256 to a row: the last row of a lexeme is filled
-- up, then rows are opened under the first chunk that they hold.
with entry as (
  select term.lexeme, chunk.chunk_id,
         (chunk.chunk_id::bigint << 32) | (chunk.length::bigint << 16) | term.tf as entry,
         row_number() over (partition by term.lexeme order by chunk.chunk_id) as position
    from chunk
   cross join lateral unnest(chunk.lexemes, chunk.tfs) as term (lexeme, tf)
   where chunk.scope_id = %(scope_id)s
     and chunk.chunk_id >= %(first_chunk_id)s
),
last as (
  select lexeme.lexeme, posting.segment, posting.n
    from (select distinct lexeme from entry) as lexeme
   cross join lateral (
          select segment, n
            from posting
           where posting.scope_id = %(scope_id)s
             and posting.lexeme = lexeme.lexeme
           order by segment desc
           limit 1) as posting
),
paged as (
  select entry.lexeme, entry.chunk_id, entry.entry, last.segment,
         (coalesce(last.n, 0) + entry.position - 1) / 256 as page
    from entry
    left join last on last.lexeme = entry.lexeme
)
insert into posting (scope_id, tenant_id, lexeme, segment, n, entries)
select %(scope_id)s::bigint, %(tenant_id)s::bigint, lexeme,
       case when page = 0 and segment is not null then segment else min(chunk_id) end,
       count(*), array_agg(entry order by entry)
  from paged
 group by lexeme, page, segment
 order by lexeme, page
    on conflict (scope_id, lexeme, segment) do update
   set entries = posting.entries || excluded.entries,
       n = posting.n + excluded.n;
