-- What replay and evals need of the log: which revisions a call saw, what retention leaves, and runs of evals.
alter table operation
  add column saw text[] collate "C" not null default '{}',
  add column kept boolean not null default false;

-- A tenant that is thrown away: a fixed state of memory, or scopes as they once stood. Past this time any process
-- may remove what a crashed one left.
alter table tenant add column expires_at timestamptz;

create table eval_run (
  tenant_id   bigint not null references tenant,
  run_id      text collate "C" not null,
  suite       text not null,
  started_at  timestamptz not null,
  document    jsonb not null,
  primary key (tenant_id, run_id)
);
alter table eval_run enable row level security;
alter table eval_run force row level security;
do $$
declare
  is_owner text := $p$(select acting_as()) = 'owner'$p$;
  is_admin text := $p$tenant_id = (select acting_tenant()) and (select acting_as()) = 'admin'$p$;
begin
  execute format('create policy administers on eval_run using (%s or %s)', is_admin, is_owner);
end
$$;
