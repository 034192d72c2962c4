-- Which newer statement contradicts an older one, where both stay: contexts show the older one as earlier, behind the newer
-- one. Each is a line of a page, or words of an entry of the journal. A row holds from the change `rev` of its scope to
-- `rev_end`, as a revision does; the next row says whether the pair is settled.
create table rival (
  scope_id      bigint not null,                        -- of both, where others share it; else of the teller
  tenant_id     bigint not null,
  older_scope   bigint not null,
  older_path    text collate "C" not null,              -- of the page or the entry
  older_key     bytea not null check (octet_length(older_key) = 16), -- of its words; see `statement`
  older_start   integer not null,                       -- where words of an entry stand; 0 for a line of a page
  older_end     integer not null,
  newer_scope   bigint not null,
  newer_path    text collate "C" not null,
  newer_key     bytea not null check (octet_length(newer_key) = 16),
  newer_start   integer not null,
  newer_end     integer not null,
  is_settled    boolean not null,                       -- both hold, or the call that named the pair is reverted
  rev           bigint not null,
  rev_end       bigint,
  tool_call_id  text collate "C" not null,
  primary key (scope_id, older_path, older_key, newer_path, newer_key, older_scope, newer_scope, rev)
);
create index rival_older on rival (older_scope, older_path);
create index rival_words on rival (older_scope, older_key);
create index rival_newer on rival (newer_scope, newer_path);

do $$
declare
  is_owner text := $p$(select acting_as()) = 'owner'$p$;
  reads text := $p$tenant_id = (select acting_tenant())
    and (scope_id = any ((select readable_scopes())::bigint[]) or (select acting_as()) = 'admin')$p$;
  writes text := $p$tenant_id = (select acting_tenant())
    and (scope_id = any ((select writable_scopes())::bigint[]) or (select acting_as()) = 'admin')$p$;
begin
  alter table rival enable row level security;
  alter table rival force row level security;
  execute format('create policy reads on rival for select using (%s or %s)', reads, is_owner);
  execute format('create policy inserts on rival for insert with check (%s or %s)', writes, is_owner);
  execute format('create policy deletes on rival for delete using (%s or %s)', writes, is_owner);
  execute format('create policy updates on rival for update using (%s or %s)', writes, is_owner);
end
$$;
