-- A write leaves the postings to a bounded delta: chunks above scope_stat.merged_chunk_id are not in them yet, and
-- chunk_removed keeps what was taken away and still stands there.
alter table scope_stat
  add column merged_chunk_id integer not null default 0,
  add column unmerged integer not null default 0;
update scope_stat set merged_chunk_id = next_chunk_id - 1;
alter table chunk drop column pending;

create table chunk_removed (
  scope_id   bigint not null,
  tenant_id  bigint not null,
  chunk_id   integer not null,
  lexemes    text[] collate "C" not null,
  tfs        smallint[] not null,
  length     integer not null,
  primary key (scope_id, chunk_id)
);
alter table chunk_removed enable row level security;
alter table chunk_removed force row level security;
do $$
declare
  is_owner text := $p$(select acting_as()) = 'owner'$p$;
  reads text := $p$tenant_id = (select acting_tenant())
    and (scope_id = any ((select readable_scopes())::bigint[]) or (select acting_as()) = 'admin')$p$;
  writes text := $p$tenant_id = (select acting_tenant())
    and (scope_id = any ((select writable_scopes())::bigint[]) or (select acting_as()) = 'admin')$p$;
begin
  execute format('create policy reads on chunk_removed for select using (%s or %s)', reads, is_owner);
  execute format('create policy inserts on chunk_removed for insert with check (%s or %s)', writes, is_owner);
  execute format('create policy deletes on chunk_removed for delete using (%s or %s)', writes, is_owner);
end
$$;

-- What a scope's index was made by, in full: none before its first write. Every write updates the row.
alter table scope set (fillfactor = 50);
alter table scope
  add column rebuilds integer not null default 0,
  alter column analyzer drop default,
  alter column analyzer drop not null,
  alter column analyzer type text using case when rev > 0 then 'analyzer-' || analyzer end;
