-- Exports that people upload on a page, while they are read and afterwards: how far each is, for all workers of a
-- service. Nothing of the file itself is kept here.
create table conversation_import (
  scope_id    bigint not null,
  tenant_id   bigint not null,
  import_id   text collate "C" not null check (import_id ~ '^[0-9a-z_]{4,40}$'),
  name        text not null,                       -- of the file, as the browser gave it
  is_dry_run  boolean not null,
  state       text not null default 'receiving'
              check (state in ('receiving', 'waiting', 'reading', 'done', 'stopped', 'cancelled', 'cut_off')),
  size_bytes  bigint not null default 0,           -- that were received so far
  report      jsonb not null default '{}',         -- what became of what was read so far
  error       jsonb,                               -- why it stopped: code, message and hint
  wants_end   boolean not null default false,      -- the person cancelled it
  started_at  timestamptz not null default now(),
  heard_at    timestamptz not null default now(),  -- when the process that reads it was last heard of
  ended_at    timestamptz,
  primary key (scope_id, import_id)
);
-- A user has one import under way.
create unique index conversation_import_open on conversation_import (scope_id) where ended_at is null;

do $$
declare
  is_owner text := $p$(select acting_as()) = 'owner'$p$;
  reads text := $p$tenant_id = (select acting_tenant())
    and (scope_id = any ((select readable_scopes())::bigint[]) or (select acting_as()) = 'admin')$p$;
  writes text := $p$tenant_id = (select acting_tenant())
    and (scope_id = any ((select writable_scopes())::bigint[]) or (select acting_as()) = 'admin')$p$;
begin
  alter table conversation_import enable row level security;
  alter table conversation_import force row level security;
  execute format('create policy reads on conversation_import for select using (%s or %s)', reads, is_owner);
  execute format('create policy inserts on conversation_import for insert with check (%s or %s)', writes, is_owner);
  execute format('create policy updates on conversation_import for update using (%s or %s)', writes, is_owner);
  execute format('create policy deletes on conversation_import for delete using (%s or %s)', writes, is_owner);
end
$$;
