-- Which message of a conversation a statement was taken from. The link in the text of the file proves nothing, since
-- anybody can type it; only what stands here counts.
create table citation (
  scope_id          bigint not null,                    -- of the file in which the statement stands
  tenant_id         bigint not null,
  user_id           text collate "C" not null,          -- whose conversation it is
  conversation_id   text collate "C" not null check (conversation_id ~ '^[0-9a-z]{12}$'),
  number            integer not null,                   -- of the message, when the statement was taken
  statement_sha256  bytea not null check (octet_length(statement_sha256) = 32), -- of the statement in normal form
  message_sha256    bytea not null check (octet_length(message_sha256) = 32),   -- of the text of the message
  start_char        integer not null,                   -- where in the message the statement stands
  end_char          integer not null,
  said_at           timestamptz,
  revision          text not null,                      -- path@version that held the citation first
  tool_call_id      text not null,
  cited_at          timestamptz not null,
  primary key (scope_id, conversation_id, number, statement_sha256, user_id)
);

-- How far a user's conversations have been distilled; the scope is that of the user's files.
create table distilled (
  scope_id         bigint not null,
  tenant_id        bigint not null,
  conversation_id  text collate "C" not null check (conversation_id ~ '^[0-9a-z]{12}$'),
  until_number     integer not null,                    -- of the last message that was read
  planner          text not null,
  tool_call_id     text not null,
  distilled_at     timestamptz not null,
  primary key (scope_id, conversation_id)
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
  foreach name in array array['citation', 'distilled'] loop
    execute format('alter table %I enable row level security', name);
    execute format('alter table %I force row level security', name);
    execute format('create policy reads on %I for select using (%s or %s)', name, reads, is_owner);
    execute format('create policy inserts on %I for insert with check (%s or %s)', name, writes, is_owner);
    execute format('create policy updates on %I for update using (%s or %s)', name, writes, is_owner);
    execute format('create policy deletes on %I for delete using (%s or %s)', name, writes, is_owner);
  end loop;
end
$$;
