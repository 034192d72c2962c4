-- Conversations: what was said elsewhere, imported as evidence. They stand beside the files of memory, in a scope of
-- their own for each user, so that no conversation changes what a word is worth among files.
alter table scope drop constraint scope_kind_check;
alter table scope add constraint scope_kind_check
  check (kind in ('user', 'shared', 'project', 'admin', 'visitor', 'conversations'));

-- What a scope of conversations holds, and the salt of the digests by which removed conversations are known again.
create table conversation_stat (
  scope_id       bigint primary key,
  tenant_id      bigint not null,
  salt           bytea not null default decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex'),
  conversations  bigint not null default 0,
  messages       bigint not null default 0,
  text_bytes     bigint not null default 0,             -- of the texts of all messages, in UTF-8
  next_id        bigint not null default 1              -- of sources and conversations
) with (fillfactor = 50);

-- Where conversations came from: an account with a provider, as its export names it, or a folder of transcripts.
create table source (
  scope_id        bigint not null,
  tenant_id       bigint not null,
  source_id       bigint not null,
  kind            text collate "C" not null,            -- the reader, such as chatgpt
  label           text collate "C" not null,            -- the name that people give it
  account         text collate "C" not null default '', -- as the export names it
  reader_version  integer not null,                     -- of the newest import
  imported_at     timestamptz not null,                 -- the newest import
  skipped         jsonb not null default '{}',          -- what the newest import left out: how often by reason
  primary key (scope_id, source_id),
  unique (scope_id, kind, label, account)
);

create table conversation (
  scope_id         bigint not null,
  tenant_id        bigint not null,
  conversation_no  bigint not null,
  conversation_id  text collate "C" not null check (conversation_id ~ '^[0-9a-z]{12}$'),
  source_id        bigint not null,
  provider_id      text collate "C" not null,           -- the provider's id
  title            text not null,
  project          text collate "C" not null default '', -- a label of the provider's, no project of Memex
  started_at       timestamptz,
  last_at          timestamptz,
  is_complete      boolean not null,                    -- false until all of it has been read
  next_number      integer not null default 1,          -- of the next message
  next_position    integer not null default 1,
  sha256           bytea not null check (octet_length(sha256) = 32), -- of what was read, to know it again
  reader_version   integer not null,
  imported_at      timestamptz not null,
  primary key (scope_id, conversation_no)
);
create unique index conversation_named on conversation (scope_id, conversation_id);
create index conversation_newest on conversation (scope_id, last_at desc nulls last, conversation_no desc);
create index conversation_source on conversation (scope_id, source_id);

-- What was said. A text never changes: another text is another message, and the older one leaves the path.
create table message (
  scope_id         bigint not null,
  tenant_id        bigint not null,
  message_id       bigint not null,                     -- the chunks of the message have it as their file_id
  conversation_no  bigint not null,
  number           integer not null,                    -- given once: conversation#number names one text for ever
  position         integer not null,                    -- the order in which the conversation is read
  parent           integer,                             -- the number of the message that it answers
  role             text not null
                   check (role in ('user', 'assistant', 'system', 'tool', 'reasoning', 'summary')),
  part             text not null,
  author           text,
  text             text not null check (text <> ''),
  sha256           bytea not null check (octet_length(sha256) = 32),
  said_at          timestamptz,
  model            text,
  human_authored   boolean not null,
  on_path          boolean not null,                    -- false on a branch that was given up
  origin           text not null,                       -- file of the export, and place in it
  provider_id      text collate "C" not null,           -- the provider's id, or the place in the file
  primary key (scope_id, message_id)
);
create unique index message_number on message (scope_id, conversation_no, number);
create index message_position on message (scope_id, conversation_no, position);

-- Conversations that a person removed, or that grew too old: their digests, so that the next export does not bring them
-- back.
create table conversation_removed (
  scope_id    bigint not null,
  tenant_id   bigint not null,
  sha256      bytea not null check (octet_length(sha256) = 32), -- of salt, source and provider's id
  removed_at  timestamptz not null,
  primary key (scope_id, sha256)
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
  foreach name in array array['conversation_stat', 'source', 'conversation', 'message', 'conversation_removed'] loop
    execute format('alter table %I enable row level security', name);
    execute format('alter table %I force row level security', name);
    execute format('create policy reads on %I for select using (%s or %s)', name, reads, is_owner);
    execute format('create policy inserts on %I for insert with check (%s or %s)', name, writes, is_owner);
    execute format('create policy updates on %I for update using (%s or %s)', name, writes, is_owner);
    execute format('create policy deletes on %I for delete using (%s or %s)', name, writes, is_owner);
  end loop;
end
$$;

-- The scopes that a caller may read, and whether it may write them. An agent's: its user's, the shared ones,
-- the projects its user is a member of. An admin's: a named user's, the shared ones, every open project.
create or replace function resolve_scopes(tenant bigint, caller_role text, caller_user text)
returns table (scope_id bigint, kind text, key text, writable boolean, language text)
language plpgsql volatile security definer
set search_path = public, pg_temp
as $$
begin
  perform set_config('memex.maintenance', 'on', true);
  return query
    select s.scope_id, s.kind, s.key, s.kind in ('user', 'conversations') or caller_role = 'admin', s.language
      from public.scope s
     where s.tenant_id = tenant
       and (s.kind in ('user', 'conversations') and s.key = caller_user
            or s.kind = 'shared' and s.key = ''
            or s.kind = 'admin' and s.key = '' and caller_role = 'admin')
    union all
    select s.scope_id, s.kind, s.key, true, s.language
      from public.project_member m
      join public.scope s on s.scope_id = m.scope_id
     where caller_role = 'agent'
       and m.tenant_id = tenant
       and m.user_id = caller_user
       and s.closed_at is null
    union all
    select s.scope_id, s.kind, s.key, true, s.language
      from public.scope s
     where caller_role = 'admin'
       and s.tenant_id = tenant
       and s.kind = 'project'
       and s.closed_at is null;
  perform set_config('memex.maintenance', '', true);
end
$$;

-- Make a scope that a first call needs, or leave it as it is. Projects are made by admins only.
create or replace function ensure_scope(tenant bigint, scope_kind text, scope_key text, scope_language text)
returns void
language plpgsql volatile security definer
set search_path = public, pg_temp
as $$
declare
  made bigint;
begin
  if scope_kind not in ('user', 'shared', 'admin', 'visitor', 'conversations') then
    raise exception 'ensure_scope makes no % scope', scope_kind;
  end if;
  perform set_config('memex.maintenance', 'on', true);
  insert into public.scope (tenant_id, kind, key, language)
  values (tenant, scope_kind, scope_key, scope_language)
  on conflict (tenant_id, kind, key) do nothing
  returning scope_id into made;
  if made is not null then
    insert into public.scope_stat (scope_id, tenant_id) values (made, tenant);
    if scope_kind = 'conversations' then
      insert into public.conversation_stat (scope_id, tenant_id) values (made, tenant);
    end if;
  end if;
  perform set_config('memex.maintenance', '', true);
end
$$;
