-- Remove chunks. Those that are in the postings (up to `merged_chunk_id`) are kept aside until they are taken out there.
with removed as (
  delete from chunk
   where scope_id = %(scope_id)s
     and chunk_id = any (%(chunk_ids)s::integer[])
  returning scope_id, tenant_id, chunk_id, lexemes, tfs, length
)
insert into chunk_removed (scope_id, tenant_id, chunk_id, lexemes, tfs, length)
select scope_id, tenant_id, chunk_id, lexemes, tfs, length
  from removed
 where chunk_id <= %(merged_chunk_id)s;
