-- What the postings of a scope do not know yet of a query's lexemes: chunks to be added (pending = 1) with what their
-- files are now, and chunks to be taken out (pending = -1). No row for a chunk that holds none of the lexemes. No more
-- are to be added than are counted as unmerged: said as a limit, so that even where one scope is most of the table its
-- chunks are read from the key's end, and not all.
with pending as (
  select added.chunk_id, 1 as pending, added.file_id, added.start_char, added.end_char, added.length, added.lexemes,
         added.tfs
    from scope_stat
   cross join lateral (
          select *
            from chunk
           where chunk.scope_id = %(scope_id)s
             and chunk.chunk_id > scope_stat.merged_chunk_id
           order by chunk.chunk_id desc
           limit scope_stat.unmerged) as added
   where scope_stat.scope_id = %(scope_id)s
  union all
  select chunk_id, -1, null, null, null, length, lexemes, tfs
    from chunk_removed
   where scope_id = %(scope_id)s
)
select pending.chunk_id, pending.pending, pending.file_id, pending.start_char, pending.end_char, pending.length,
       array(select coalesce(pending.tfs[array_position(pending.lexemes, lexeme)], 0)
               from unnest(%(lexemes)s::text[]) as lexeme) as tfs,
       head.path, head.tag_keys, head.dated
  from pending
  left join lateral (
        select *
          from revision
         where revision.scope_id = %(scope_id)s
           and revision.file_id = pending.file_id
           and revision.rev_end is null
        offset 0) as head on true
 where pending.lexemes && %(lexemes)s::text[];
