-- Documents: files of a client's folder, mirrored as they stand. They are beside memory, in a scope of their own for each
-- user and for each project, so that no document changes what a word is worth among files.
alter table scope drop constraint scope_kind_check;
alter table scope add constraint scope_kind_check
  check (kind in ('user', 'shared', 'project', 'admin', 'visitor', 'conversations', 'documents', 'project_documents'));

-- What a scope of documents holds.
create table document_stat (
  scope_id      bigint primary key,
  tenant_id     bigint not null,
  documents     bigint not null default 0,
  text_bytes    bigint not null default 0,              -- of the texts, in UTF-8
  next_root     integer not null default 1,
  next_version  integer not null default 1              -- of the next change: with a path, it names one text for ever
) with (fillfactor = 50);

-- A folder of a client, by a name: nothing says where it lies on the client's machine.
create table document_root (
  scope_id      bigint not null,
  tenant_id     bigint not null,
  root_no       integer not null,
  name          text collate "C" not null check (name ~ '^[a-z0-9][a-z0-9._-]{0,62}$'),
  owner         text collate "C" not null,              -- the user who pushes it; '': an admin, or a user who was erased
  state         text not null default 'syncing' check (state in ('syncing', 'complete', 'removing')),
  sync          integer not null default 0,             -- the number of the newest sync
  client        text not null default '',               -- that runs it, as it names itself
  began_at      timestamptz,                            -- when the newest sync began, and was last heard of
  heard_at      timestamptz,
  completed_at  timestamptz,                            -- when a sync last came to its end
  documents     integer not null default 0,
  text_bytes    bigint not null default 0,
  passages      integer not null default 0,
  patterns      text[] not null default '{}',
  left_out      jsonb not null default '{}',            -- how many files by reason, as the client reports
  examples      jsonb not null default '[]',            -- some of them, with the reason
  primary key (scope_id, root_no),
  unique (scope_id, name)
) with (fillfactor = 50);

create table document (
  scope_id     bigint not null,
  tenant_id    bigint not null,
  document_id  bigint not null,                         -- the chunks of the document have it as their file_id
  root_no      integer not null,
  owner        text collate "C" not null,               -- of the root
  path         text collate "C" not null,               -- relative to the root
  version      integer not null,
  sha256       bytea not null check (octet_length(sha256) = 32), -- of the text in UTF-8
  kind         text not null check (kind in ('markdown', 'text', 'json', 'yaml', 'toml', 'code')),
  title        text not null,
  tags         text[] not null,                         -- of the text and of the client
  tag_keys     text[] collate "C" not null,             -- the tags without case
  given_tags   text[] not null,                         -- those of the client
  text         text not null,
  size_bytes   integer not null,
  passages     integer not null,
  changed_at   timestamptz,                             -- the time of the file, as the client says
  updated_at   timestamptz not null,                    -- when this text, or its path, came
  missed_by    integer,                                 -- the sync whose manifest lacks it
  primary key (scope_id, document_id)
);
create unique index document_path on document (scope_id, root_no, path);
create index document_text on document (scope_id, root_no, sha256);
create index document_missed on document (scope_id, root_no, document_id) where missed_by is not null;

do $$
declare
  name text;
  is_owner text := $p$(select acting_as()) = 'owner'$p$;
  reads text := $p$tenant_id = (select acting_tenant())
    and (scope_id = any ((select readable_scopes())::bigint[]) or (select acting_as()) = 'admin')$p$;
  writes text := $p$tenant_id = (select acting_tenant())
    and (scope_id = any ((select writable_scopes())::bigint[]) or (select acting_as()) = 'admin')$p$;
  owns text := $p$tenant_id = (select acting_tenant())
    and (scope_id = any ((select writable_scopes())::bigint[]) and owner = (select acting_user())
         or (select acting_as()) = 'admin')$p$;
begin
  foreach name in array array['document_stat', 'document_root', 'document'] loop
    execute format('alter table %I enable row level security', name);
    execute format('alter table %I force row level security', name);
    execute format('create policy reads on %I for select using (%s or %s)', name, reads, is_owner);
  end loop;
  execute format('create policy updates on document_stat for update using (%s or %s)', writes, is_owner);
  execute format('create policy erases on document_stat for delete using (%s)', is_owner);
  execute format('create policy begins on document_stat for insert with check (%s)', is_owner);
  -- Members of a project read the documents of all its roots, and change those of their own.
  foreach name in array array['document_root', 'document'] loop
    execute format('create policy inserts on %I for insert with check (%s or %s)', name, owns, is_owner);
    execute format('create policy updates on %I for update using (%s or %s)', name, owns, is_owner);
    execute format('create policy deletes on %I for delete using (%s or %s)', name, owns, is_owner);
  end loop;
end
$$;

-- A scope of documents is a right that callers gain: those who are kept in memory learn of it by the epoch.
drop trigger raise_access_epoch_on_insert on scope;
create trigger raise_access_epoch_on_insert after insert on scope
  for each row when (new.kind in ('project', 'documents', 'project_documents')) execute function raise_access_epoch();

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
    select s.scope_id, s.kind, s.key, s.kind in ('user', 'conversations', 'documents') or caller_role = 'admin',
           s.language
      from public.scope s
     where s.tenant_id = tenant
       and (s.kind in ('user', 'conversations', 'documents') and s.key = caller_user
            or s.kind = 'shared' and s.key = ''
            or s.kind = 'admin' and s.key = '' and caller_role = 'admin')
    union all
    select d.scope_id, d.kind, d.key, true, d.language
      from public.project_member m
      join public.scope s on s.scope_id = m.scope_id
      join public.scope d
        on d.tenant_id = tenant
       and d.key = s.key
       and d.kind in ('project', 'project_documents')
     where caller_role = 'agent'
       and m.tenant_id = tenant
       and m.user_id = caller_user
       and s.closed_at is null
    union all
    select d.scope_id, d.kind, d.key, true, d.language
      from public.scope s
      join public.scope d
        on d.tenant_id = tenant
       and d.key = s.key
       and d.kind in ('project', 'project_documents')
     where caller_role = 'admin'
       and s.tenant_id = tenant
       and s.kind = 'project'
       and s.closed_at is null;
  perform set_config('memex.maintenance', '', true);
end
$$;

-- Make a scope that a first call needs, or leave it as it is. Projects are made by admins only, and only an open one gets
-- documents.
create or replace function ensure_scope(tenant bigint, scope_kind text, scope_key text, scope_language text)
returns void
language plpgsql volatile security definer
set search_path = public, pg_temp
as $$
declare
  made bigint;
begin
  if scope_kind not in ('user', 'shared', 'admin', 'visitor', 'conversations', 'documents', 'project_documents') then
    raise exception 'ensure_scope makes no % scope', scope_kind;
  end if;
  perform set_config('memex.maintenance', 'on', true);
  insert into public.scope (tenant_id, kind, key, language)
  select tenant, scope_kind, scope_key, scope_language
   where scope_kind <> 'project_documents'
      or exists (select from public.scope s
                  where s.tenant_id = tenant and s.kind = 'project' and s.key = scope_key and s.closed_at is null)
  on conflict (tenant_id, kind, key) do nothing
  returning scope_id into made;
  if made is not null then
    insert into public.scope_stat (scope_id, tenant_id) values (made, tenant);
    if scope_kind = 'conversations' then
      insert into public.conversation_stat (scope_id, tenant_id) values (made, tenant);
    elsif scope_kind in ('documents', 'project_documents') then
      insert into public.document_stat (scope_id, tenant_id) values (made, tenant);
    end if;
  end if;
  perform set_config('memex.maintenance', '', true);
end
$$;
