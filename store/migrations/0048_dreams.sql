-- Proposals to tidy a mount: edits with what they rest on, which a person or a rule of a person's decides about. All of it can
-- be made anew from the files, so an erasure of words removes the proposals of the scopes that it changes.
create table dream (
  scope_id     bigint primary key,                      -- the mount
  tenant_id    bigint not null,
  mode         text not null default 'off' check (mode in ('off', 'propose', 'auto')),
  auto_kinds   text[] not null default '{}',            -- of edits that `auto` applies by itself
  paused_until timestamptz,
  seen_rev     bigint not null default 0,               -- the last change of the scope that a dream has seen
  dreamt_at    timestamptz,                             -- when the last dream of the job began
  lease        text collate "C",                        -- who dreams now
  lease_until  timestamptz
);
create index dream_awake on dream (scope_id) where mode <> 'off';

create table proposal (
  scope_id     bigint not null,
  tenant_id    bigint not null,
  proposal_id  text collate "C" not null,               -- also the id of the call that made it
  made_at      timestamptz not null,
  rev          bigint not null,                         -- the state of the mount in which it was made
  planner      text not null,
  is_expired   boolean not null default false,
  counts       jsonb not null,                          -- of signals, by their kind
  listed       jsonb not null,                          -- what is only listed, with both places
  gate         jsonb,                                   -- what asking before and after showed; null: nothing was asked
  primary key (scope_id, proposal_id)
);

create table proposal_edit (
  scope_id     bigint not null,
  tenant_id    bigint not null,
  proposal_id  text collate "C" not null,
  number       integer not null,
  part         integer not null,                        -- the group: its edits are applied together or not at all
  kind         text not null,
  path         text not null,                           -- virtual
  base_version integer,                                 -- null: there was no such file
  change       jsonb not null,                          -- lines with what takes their place
  removed      text[] not null default '{}',            -- statements, as path@version:start-end
  kept         text[] not null default '{}',            -- what says the same and stays
  why          text not null,
  state        text not null default 'open'
               check (state in ('open', 'held', 'applied', 'rejected', 'reverted', 'outdated')),
  tool_call_id text collate "C",                        -- the call that applied it
  decided_at   timestamptz,
  primary key (scope_id, proposal_id, number)
);
create index proposal_edit_call on proposal_edit (scope_id, tool_call_id) where tool_call_id is not null;

do $$
declare
  name text;
  is_owner text := $p$(select acting_as()) = 'owner'$p$;
  reads text := $p$tenant_id = (select acting_tenant())
    and (scope_id = any ((select readable_scopes())::bigint[]) or (select acting_as()) = 'admin')$p$;
  writes text := $p$tenant_id = (select acting_tenant())
    and (scope_id = any ((select writable_scopes())::bigint[]) or (select acting_as()) = 'admin')$p$;
begin
  foreach name in array array['dream', 'proposal', 'proposal_edit'] loop
    execute format('alter table %I enable row level security', name);
    execute format('alter table %I force row level security', name);
    execute format('create policy reads on %I for select using (%s or %s)', name, reads, is_owner);
    execute format('create policy inserts on %I for insert with check (%s or %s)', name, writes, is_owner);
    execute format('create policy updates on %I for update using (%s or %s)', name, writes, is_owner);
    execute format('create policy deletes on %I for delete using (%s or %s)', name, writes, is_owner);
  end loop;
end
$$;
