-- Put what is derived of texts in the place of what was derived of the texts before: links, chunks, and the counters of
-- their scopes, whose lock is held. No rows.
--
-- Rows that go are found by their keys and taken at their places (ctid), by a plan of any age; the lock keeps them there.
-- Places are those of one table: where a table has partitions, the scope says in which, by what no index answers.
with counted as (
  update scope_stat
     set n = counted.n,
         total_length = counted.total_length,
         files = counted.files,
         next_file_id = counted.next_file_id,
         next_chunk_id = counted.next_chunk_id,
         merged_chunk_id = counted.merged_chunk_id,
         unmerged = counted.unmerged
    from unnest(%(scope_id)s::bigint[], %(n)s::integer[], %(total_length)s::bigint[], %(files)s::integer[],
                %(next_file_id)s::bigint[], %(next_chunk_id)s::integer[], %(merged_chunk_id)s::integer[],
                %(unmerged)s::integer[])
         as counted (scope_id, n, total_length, files, next_file_id, next_chunk_id, merged_chunk_id, unmerged)
   where scope_stat.scope_id = counted.scope_id
),
unlinked as (
  delete from link
   using jsonb_to_recordset(%(known)s::jsonb) as known (scope_id bigint, file_id bigint)
   cross join lateral (
         select link.ctid as place
           from link
          where link.scope_id = known.scope_id
            and link.source_file_id = known.file_id
         offset 0) as located
   where link.ctid = located.place
     and link.scope_id is not distinct from known.scope_id
  returning link.source_file_id
),
linked as (
  insert into link (scope_id, tenant_id, source_file_id, ordinal, side, target_key, raw, anchor)
  select added.scope_id, %(tenant_id)s::bigint, added.file_id, added.ordinal, added.side, added.target_key, added.raw,
         added.anchor
    from jsonb_to_recordset(%(links)s::jsonb)
         as added (scope_id bigint, file_id bigint, ordinal integer, side smallint, target_key text, raw text,
                   anchor text)
   where (select count(*) from unlinked) >= 0  -- waits until all of them are gone
),
removed as (
  delete from chunk
   using jsonb_to_recordset(%(removed)s::jsonb) as gone (scope_id bigint, chunk_id integer, is_merged boolean, lexemes text, tfs text)
   cross join lateral (
         select chunk.ctid as place
           from chunk
          where chunk.scope_id = gone.scope_id
            and chunk.chunk_id = gone.chunk_id
         offset 0) as located
   where chunk.ctid = located.place
     and chunk.scope_id is not distinct from gone.scope_id
  returning chunk.scope_id, chunk.tenant_id, chunk.chunk_id, chunk.length, gone.is_merged,
            coalesce(string_to_array(gone.lexemes, ' '), chunk.lexemes) as lexemes,
            coalesce(string_to_array(gone.tfs, ' ')::smallint[], chunk.tfs) as tfs
),
kept as (
  -- Chunks that are in the postings are kept aside until they are taken out there.
  insert into chunk_removed (scope_id, tenant_id, chunk_id, lexemes, tfs, length)
  select scope_id, tenant_id, chunk_id, lexemes, tfs, length
    from removed
   where is_merged
),
shifted as (
  -- Chunks of unchanged text stand elsewhere now.
  update chunk
     set start_char = located.start_char,
         end_char = located.end_char
    from (select moved.scope_id, moved.start_char, moved.end_char, place.place
            from jsonb_to_recordset(%(shifted)s::jsonb)
                 as moved (scope_id bigint, chunk_id integer, start_char integer, end_char integer)
           cross join lateral (
                 select chunk.ctid as place
                   from chunk
                  where chunk.scope_id = moved.scope_id
                    and chunk.chunk_id = moved.chunk_id
                 offset 0) as place) as located
   where chunk.ctid = located.place
     and chunk.scope_id is not distinct from located.scope_id
)
insert into chunk
  (scope_id, tenant_id, chunk_id, file_id, start_char, end_char, heading_path, sha256, lexemes, tfs, length)
select added.scope_id, %(tenant_id)s::bigint, added.chunk_id, added.file_id, added.start_char, added.end_char,
       added.heading_path, decode(added.sha256, 'hex'), string_to_array(added.lexemes, ' '),
       string_to_array(added.tfs, ' ')::smallint[], added.length
  from jsonb_to_recordset(%(chunks)s::jsonb)
       as added (scope_id bigint, chunk_id integer, file_id bigint, start_char integer, end_char integer,
                 heading_path text[], sha256 text, lexemes text, tfs text, length integer);
