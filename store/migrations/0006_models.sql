-- What models did. A call that waits in the queue is a row too: `queued`, with a lease while a worker has it, until it
-- is `answered`, or `quarantined` when it has failed too often.
alter table operation
  drop constraint operation_status_check,
  add constraint operation_status_check check (status in
    ('queued', 'quarantined', 'running', 'committed', 'answered', 'repeated', 'dry_run', 'failed', 'denied'));
create index operation_queued on operation (tenant_id, operation_id)
  where parent_id is null and status in ('queued', 'quarantined');

-- What a tenant's calls cost on a day (UTC), by model.
create table spend (
  tenant_id      bigint not null references tenant,
  day            date not null,
  model          text not null,
  requests       bigint not null default 0,
  input_tokens   bigint not null default 0,
  output_tokens  bigint not null default 0,
  usd            numeric(18, 9) not null default 0,
  primary key (tenant_id, day, model)
);
alter table spend enable row level security;
alter table spend force row level security;
do $$
begin
  execute format('create policy keeps on spend using (tenant_id = (select acting_tenant()) or %s)',
                 $p$(select acting_as()) = 'owner'$p$);
end
$$;
