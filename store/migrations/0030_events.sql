-- What coding agents report while they work: prompts, ends of turns, commands. A captured session is a conversation; an
-- event says when something happened in it, and holds its words only as long as the transcript does not.
alter table conversation_stat add column next_event bigint not null default 1;

create table event (
  scope_id         bigint not null,
  tenant_id        bigint not null,
  event_no         bigint not null,                     -- the order of arrival; within a session the order of events
  runtime          text collate "C" not null,           -- the reader of the program's transcripts, such as claude_code
  session          text collate "C" not null,           -- the provider's id of the conversation
  turn             text collate "C" not null default '',
  name             text collate "C" not null,           -- names the event within its turn
  conversation_id  text collate "C" not null,           -- of the session, whether or not its transcript was read
  kind             text not null,                       -- session_start, prompt, stop, compact, session_end, tool, …
  happened_at      timestamptz not null,
  received_at      timestamptz not null,
  project          text not null default '',            -- a label
  cwd              text not null default '',
  messages         jsonb,                               -- [{role, text}] that stand in until the transcript has them
  tools            jsonb,                               -- [{name, command, ok, paths, duration_ms}]
  metadata         jsonb not null default '{}',         -- texts by name, such as branch, remote, source
  primary key (scope_id, event_no)
);
create unique index event_once on event (scope_id, runtime, session, turn, name);
create index event_of_conversation on event (scope_id, conversation_id, event_no);
create index event_of_runtime on event (scope_id, runtime, received_at);

do $$
declare
  is_owner text := $p$(select acting_as()) = 'owner'$p$;
  reads text := $p$tenant_id = (select acting_tenant())
    and (scope_id = any ((select readable_scopes())::bigint[]) or (select acting_as()) = 'admin')$p$;
  writes text := $p$tenant_id = (select acting_tenant())
    and (scope_id = any ((select writable_scopes())::bigint[]) or (select acting_as()) = 'admin')$p$;
begin
  alter table event enable row level security;
  alter table event force row level security;
  execute format('create policy reads on event for select using (%s or %s)', reads, is_owner);
  execute format('create policy inserts on event for insert with check (%s or %s)', writes, is_owner);
  execute format('create policy updates on event for update using (%s or %s)', writes, is_owner);
  execute format('create policy deletes on event for delete using (%s or %s)', writes, is_owner);
end
$$;
