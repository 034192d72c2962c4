-- What was forgotten or replaced, by salted digests alone: texts that were said before it do not bring it back. A row holds
-- from the change `rev` of its scope to `rev_end`, as a revision does: until it is said anew, or what took it out is undone.
create table tombstone (
  scope_id      bigint not null,                        -- of the page or the entry that said it
  tenant_id     bigint not null,
  line_key      bytea not null check (octet_length(line_key) = 16), -- of the words of the statement; see `statement`
  strength      text not null check (strength in ('replaced', 'forgotten')),
  salt          bytea not null check (octet_length(salt) = 16), -- one for all rows of a scope
  value_digests bytea[] not null,                       -- of its names, numbers and identifiers: a text that says it has all
  value_sizes   smallint[] not null,                    -- their lengths in characters
  word_digests  bytea[] not null,                       -- of its other words, as search has them: they tell the property
  ended_at      timestamptz not null,                   -- what was said later is said anew
  rev           bigint not null,
  rev_end       bigint,
  tool_call_id  text collate "C" not null,
  lifted_in     text collate "C",                       -- the call that let it come back
  primary key (scope_id, line_key, rev)
);
create index tombstone_standing on tombstone (scope_id) where rev_end is null;

do $$
declare
  is_owner text := $p$(select acting_as()) = 'owner'$p$;
  reads text := $p$tenant_id = (select acting_tenant())
    and (scope_id = any ((select readable_scopes())::bigint[]) or (select acting_as()) = 'admin')$p$;
  writes text := $p$tenant_id = (select acting_tenant())
    and (scope_id = any ((select writable_scopes())::bigint[]) or (select acting_as()) = 'admin')$p$;
begin
  execute 'alter table tombstone enable row level security';
  execute 'alter table tombstone force row level security';
  execute format('create policy reads on tombstone for select using (%s or %s)', reads, is_owner);
  execute format('create policy inserts on tombstone for insert with check (%s or %s)', writes, is_owner);
  execute format('create policy updates on tombstone for update using (%s or %s)', writes, is_owner);
  execute format('create policy deletes on tombstone for delete using (%s or %s)', writes, is_owner);
end
$$;

-- The days on which a file or an entry of the journal holds, where a caller or the file itself says so.
alter table revision add column valid daterange;
create index revision_valid on revision (scope_id) where valid is not null;
