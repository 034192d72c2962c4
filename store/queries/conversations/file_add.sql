-- Note that files were read to their end, each in the place of what was noted of its lineage. No rows. What another
-- import notes at the same moment stays.
with given as (
  select *
    from unnest(%(sha256s)s::bytea[], %(lineages)s::bytea[], %(bookmarks)s::jsonb[]) as file (sha256, lineage, bookmark)
),
earlier as (
  delete from conversation_file
   using given
   where conversation_file.scope_id = %(scope_id)s
     and (conversation_file.lineage = given.lineage or conversation_file.sha256 = given.sha256)
  returning conversation_file.sha256
)
insert into conversation_file (scope_id, tenant_id, sha256, read_at, lineage, bookmark)
select %(scope_id)s, %(tenant_id)s::bigint, given.sha256, %(read_at)s::timestamptz, given.lineage, given.bookmark
  from given
 where (select count(*) from earlier) >= 0  -- waits until they are gone
on conflict do nothing;
