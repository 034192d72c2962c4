-- Where work stands, as it is derived from conversations. An observation holds no words: it says what a span of a
-- message is, and is made anew from the message at any time. All of it stands in the user's scope of conversations.
create table observation (
  scope_id         bigint not null,
  tenant_id        bigint not null,
  conversation_no  bigint not null,
  number           integer not null,                    -- of the message
  place            integer not null,                    -- its place among the observations of the message, from 0
  kind             text collate "C" not null,           -- objective, decision, pending, done, blocker, …
  start_char       integer not null,
  end_char         integer not null check (end_char > start_char),
  by_human         boolean not null,                    -- false: an agent said it, maybe from a page that it has read
  is_firm          boolean not null,                    -- a label says the kind, and not a pattern
  confidence       real not null,
  primary key (scope_id, conversation_no, number, place)
);

-- How far a conversation has been read for observations, and by which version of the rules.
create table work_derived (
  scope_id         bigint not null,
  tenant_id        bigint not null,
  conversation_no  bigint not null,
  derived_to       integer not null,                    -- the number of the last message that was read
  deriver_version  integer not null,
  sha256           bytea not null,                      -- of the conversation as it was then
  primary key (scope_id, conversation_no)
);

-- What a person decided by hand about an item of work, which its id names.
create table work_mark (
  scope_id         bigint not null,
  tenant_id        bigint not null,
  item_id          text collate "C" not null check (item_id ~ '^[0-9a-z]{10}$'),
  marked_at        timestamptz not null,
  action           text not null check (action in ('done', 'drop', 'keep')),
  tool_call_id     text not null,
  conversation_id  text collate "C",                    -- that the item comes from; null: from memory
  primary key (scope_id, item_id, marked_at)
);

do $$
declare
  name text;
  is_owner text := $p$(select acting_as()) = 'owner'$p$;
  reads text := $p$tenant_id = (select acting_tenant())
    and (scope_id = any ((select readable_scopes())::bigint[]) or (select acting_as()) = 'admin')$p$;
  writes text := $p$tenant_id = (select acting_tenant())
    and (scope_id = any ((select writable_scopes())::bigint[]) or (select acting_as()) = 'admin')$p$;
begin
  foreach name in array array['observation', 'work_derived', 'work_mark'] loop
    execute format('alter table %I enable row level security', name);
    execute format('alter table %I force row level security', name);
    execute format('create policy reads on %I for select using (%s or %s)', name, reads, is_owner);
    execute format('create policy inserts on %I for insert with check (%s or %s)', name, writes, is_owner);
    execute format('create policy updates on %I for update using (%s or %s)', name, writes, is_owner);
    execute format('create policy deletes on %I for delete using (%s or %s)', name, writes, is_owner);
  end loop;
end
$$;
