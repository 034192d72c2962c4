-- Where chunks stand that scored, best first: of each scope the best `limit`, and what ties with the last of them. They
-- are of those files only whose path begins with `prefix`, that bear all of `tags`, and are of a day from `dated_from` to
-- `dated_to`, or `undated`; a null is no filter. For the best `shown_files` files also the text and the headings of their
-- best `shown_chunks` chunks, and how often each lexeme stands there; else null. Files behind those whose shown chunks
-- hold `shown_chars` characters are not shown. Ties of files are broken by their virtual paths, ties in a file by the
-- place. Each look-up is by its key (`offset 0`), whatever the statistics say. What is long is read at the end, of the
-- shown chunks alone.
with scored as (
  select *
    from unnest(%(scope_ids)s::bigint[], %(mounts)s::text[], %(chunk_ids)s::text[], %(scores)s::text[])
           as searched (scope_id, mount, chunk_ids, scores)
   cross join lateral unnest(searched.chunk_ids::integer[], searched.scores::bigint[]) as one (chunk_id, score)
),
found as (
  select scored.scope_id, scored.chunk_id, scored.score, chunk.file_id, chunk.start_char, chunk.end_char,
         chunk.length, head.path, head.version, head.title, head.size_chars, head.dated, head.created_at,
         scored.mount || '/' || head.path as virtual_path
    from scored
   cross join lateral (
          select *
            from chunk
           where chunk.scope_id = scored.scope_id
             and chunk.chunk_id = scored.chunk_id
          offset 0) as chunk
   cross join lateral (
          select *
            from revision
           where revision.scope_id = scored.scope_id
             and revision.file_id = chunk.file_id
             and revision.rev_end is null
          offset 0) as head
   where starts_with(head.path, %(prefix)s::text)
     and head.tag_keys @> %(tags)s::text[]
     and (%(dated_from)s::date is null
          or head.dated between %(dated_from)s::date and %(dated_to)s::date
          or (%(undated)s::boolean and head.dated is null))
     and (head.origin is null
          or (%(entries)s::boolean
              and (%(about)s::text is null or head.about is null or head.about = %(about)s::text)))
),
best as (
  select *
    from (select found.*, rank() over (partition by scope_id order by score desc) as score_rank
            from found) as every
   where score_rank <= %(limit)s::bigint
),
in_file as (
  select best.*,
         max(score) over (partition by scope_id, file_id) as best_score,
         row_number() over (partition by scope_id, file_id order by score desc, start_char) as place
    from best
),
ranked as (
  select in_file.*,
         place <= %(shown_chunks)s::bigint
         and dense_rank() over (order by best_score desc, virtual_path collate "C") <= %(shown_files)s::bigint
         and (%(shown_chars)s::bigint is null
              or %(shown_chars)s::bigint
                 > sum(case when place <= %(shown_chunks)s::bigint then end_char - start_char else 0 end)
                     over (order by best_score desc, virtual_path collate "C")
                 - sum(case when place <= %(shown_chunks)s::bigint then end_char - start_char else 0 end)
                     over (partition by scope_id, file_id))
           as is_shown
    from in_file
),
whole as materialized (  -- once a file: most of the time would go into decompressing its text for each chunk
  select head.*
    from (select distinct scope_id, file_id
            from ranked
           where is_shown) as wanted
   cross join lateral (
          select revision.scope_id, revision.file_id, revision.tags, revision.content || '' as content
            from revision
           where revision.scope_id = wanted.scope_id
             and revision.file_id = wanted.file_id
             and revision.rev_end is null
          offset 0) as head
)
select ranked.scope_id, ranked.chunk_id, score, ranked.file_id, ranked.start_char, ranked.end_char, ranked.length,
       ranked.path, shown.heading_path,
       case when is_shown then
         array(select coalesce(shown.tfs[array_position(shown.lexemes, lexeme)], 0)
                 from unnest(%(lexemes)s::text[]) as lexeme)
       end as tfs,
       case when is_shown then ranked.version end as version,
       case when is_shown then ranked.title end as title,
       case when is_shown then ranked.size_chars end as size_chars,
       case when is_shown then ranked.dated end as dated,
       head.tags,
       case when is_shown then ranked.created_at end as updated_at,
       case when is_shown then
         (select first.start_char
            from chunk first
           where first.scope_id = ranked.scope_id
             and first.file_id = ranked.file_id
           order by first.start_char
           limit 1)
       end as body_start,
       case when is_shown then
         case when octet_length(head.content) = ranked.size_chars then  -- no character before need be counted
           convert_from(
             substring(
               convert_to(head.content, 'UTF8') from ranked.start_char + 1 for ranked.end_char - ranked.start_char),
             'UTF8')
         else
           substring(head.content from ranked.start_char + 1 for ranked.end_char - ranked.start_char)
         end
       end as text
  from ranked
  left join lateral (
        select *
          from chunk
         where ranked.is_shown
           and chunk.scope_id = ranked.scope_id
           and chunk.chunk_id = ranked.chunk_id
        offset 0) as shown on true
  left join whole as head
    on ranked.is_shown
   and head.scope_id = ranked.scope_id
   and head.file_id = ranked.file_id
 order by score desc;
