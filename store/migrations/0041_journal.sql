-- Texts that were told are kept as entries of the journal: files whose metadata are columns, and nothing in the text.
alter table revision
  add column origin text check (origin in ('user', 'assistant', 'tool', 'web', 'document', 'import', 'operator', 'model')),
  add column said_at timestamptz,
  add column about text collate "C";
create index revision_told on revision (scope_id, sha256) where origin is not null and not deleted;

-- The same text told again makes no second entry, and is counted here.
create table told_again (
  scope_id      bigint not null,
  tenant_id     bigint not null,
  path          text collate "C" not null,              -- of the entry, relative to the user's mount
  said_at       timestamptz not null,
  tool_call_id  text collate "C" not null,
  primary key (scope_id, path, tool_call_id)
);

-- Which words of the journal a statement of a page was made from, and whether the page still holds it. A row holds from
-- the change `rev` of the page's scope to `rev_end`, as a revision does: the next row says what became of it.
create table statement (
  scope_id      bigint not null,                        -- of the page
  tenant_id     bigint not null,
  file_id       bigint not null,                        -- the page
  line_key      bytea not null check (octet_length(line_key) = 16), -- of the words of its line
  entry_scope   bigint,                                 -- of the journal; null where no entry holds the words
  entry_path    text collate "C" not null default '',
  start_char    integer not null default 0,             -- where the words stand in the entry
  end_char      integer not null default 0,
  state         text not null
                constraint statement_known_state check (state in ('in_force', 'replaced', 'closed', 'forgotten', 'removed', 'put_back')),
  rev           bigint not null,
  rev_end       bigint,
  held_in       text,                                   -- path@version:start-end of the line, where the page held it last
  newer         text,                                   -- the statement that took its place
  tool_call_id  text collate "C" not null,
  changed_at    timestamptz not null default clock_timestamp(),
  said_on       date,                                   -- the day on which it was said, last
  accepted_at   timestamptz,                            -- when the call that said so was accepted
  primary key (scope_id, file_id, line_key, entry_path, start_char, rev)
);
create index statement_line on statement (scope_id, line_key);
create index statement_entry on statement (entry_scope, entry_path) where entry_scope is not null;
create index statement_gone on statement (scope_id, changed_at)
  where rev_end is null and state in ('replaced', 'closed', 'forgotten', 'removed');
create index statement_accepted on statement (scope_id, accepted_at)
  where rev_end is null and state in ('in_force', 'put_back');

do $$
declare
  name text;
  is_owner text := $p$(select acting_as()) = 'owner'$p$;
  reads text := $p$tenant_id = (select acting_tenant())
    and (scope_id = any ((select readable_scopes())::bigint[]) or (select acting_as()) = 'admin')$p$;
  writes text := $p$tenant_id = (select acting_tenant())
    and (scope_id = any ((select writable_scopes())::bigint[]) or (select acting_as()) = 'admin')$p$;
begin
  foreach name in array array['told_again', 'statement'] loop
    execute format('alter table %I enable row level security', name);
    execute format('alter table %I force row level security', name);
    execute format('create policy reads on %I for select using (%s or %s)', name, reads, is_owner);
    execute format('create policy inserts on %I for insert with check (%s or %s)', name, writes, is_owner);
    execute format('create policy deletes on %I for delete using (%s or %s)', name, writes, is_owner);
  end loop;
  execute format('create policy updates on statement for update using (%s or %s)', writes, is_owner);
end
$$;
