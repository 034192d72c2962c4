-- What each scope stores is counted, and may be limited. Nobody counts here: the first commit of a scope does, and so does
-- the next one after a commit of the version before.
alter table scope add column standing_bytes bigint not null default 0;
alter table scope add column revisions bigint not null default 0;
alter table scope add column stored_bytes bigint not null default 0;
alter table scope add column counted_rev bigint not null default -1;
alter table scope alter column counted_rev set default 0;

-- How much may be stored. For a user or a project without a row of its own, and for a limit that its row leaves open,
-- the row with the key '' holds.
create table quota (
  tenant_id     bigint not null references tenant,
  kind          text not null check (kind in ('tenant', 'user', 'project')),
  key           text collate "C" not null,              -- the user id or the project's slug
  files         bigint check (files >= 0),              -- null for no limit
  bytes         bigint check (bytes >= 0),              -- of the files as they stand
  revisions     bigint check (revisions >= 0),          -- of the whole history
  stored_bytes  bigint check (stored_bytes >= 0),       -- of the whole history
  primary key (tenant_id, kind, key)
);

alter table quota enable row level security;
alter table quota force row level security;
create policy reads on quota for select
  using (tenant_id = (select acting_tenant()) or (select acting_as()) = 'owner');
-- What a whole tenant may store is said by whoever runs the service, and not by the tenant's administrators.
create policy administers on quota
  using (tenant_id = (select acting_tenant()) and (select acting_as()) = 'admin' and kind <> 'tenant'
         or (select acting_as()) = 'owner');

-- What a tenant stores, over all of its scopes.
create function tenant_usage(tenant bigint)
returns table (files bigint, bytes bigint, revisions bigint, stored_bytes bigint)
language sql stable
set search_path = public, pg_temp
as $$
  select coalesce(sum(stat.files), 0)::bigint,
         coalesce(sum(case when s.counted_rev = s.rev then s.standing_bytes else recounted.bytes end), 0)::bigint,
         coalesce(sum(case when s.counted_rev = s.rev then s.revisions else recounted.revisions end), 0)::bigint,
         coalesce(sum(case when s.counted_rev = s.rev then s.stored_bytes else recounted.stored_bytes end), 0)::bigint
    from public.scope s
    join public.scope_stat stat using (scope_id)
    left join lateral (
         select coalesce(sum(octet_length(r.content)) filter (where r.rev_end is null), 0) as bytes,
                count(*) as revisions,
                coalesce(sum(octet_length(r.content)), 0) as stored_bytes
           from public.revision r
          where s.counted_rev <> s.rev
            and r.scope_id = s.scope_id) as recounted on true
   where s.tenant_id = tenant
$$;

-- Fail if a tenant stores more than its quota allows, in one of the measures in which this transaction has added to it.
-- The quota's row is locked until the commit, so what others add at the same moment is counted. SQLSTATE MX003, with
-- the numbers in JSON.
create function check_tenant_quota(tenant bigint, added jsonb) returns void
language plpgsql volatile security definer
set search_path = public, pg_temp
as $$
declare
  maintenance text := coalesce(current_setting('memex.maintenance', true), '');
  limits jsonb;
  used jsonb;
  measure text;
begin
  perform set_config('memex.maintenance', 'on', true);
  select to_jsonb(q) into limits
    from public.quota q
   where q.tenant_id = tenant and q.kind = 'tenant'
     for update;
  -- A statement of its own, which sees what was committed while the row was waited for.
  select to_jsonb(u) into used from public.tenant_usage(tenant) u;
  perform set_config('memex.maintenance', maintenance, true);
  for measure in select jsonb_object_keys(added) loop
    if (used ->> measure)::bigint > (limits ->> measure)::bigint then
      raise exception 'the quota of the tenant is exceeded' using
        errcode = 'MX003',
        detail = jsonb_build_object('measure', measure, 'limit', (limits ->> measure)::bigint,
                                    'added', (added ->> measure)::bigint,
                                    'used', (used ->> measure)::bigint - (added ->> measure)::bigint)::text;
    end if;
  end loop;
end
$$;
revoke all on function tenant_usage(bigint) from public;
revoke all on function check_tenant_quota(bigint, jsonb) from public;
