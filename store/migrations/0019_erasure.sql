-- Erasing a user: the receipt, and calls for the user are refused while it goes on, and when they began before it.

-- Who was erased, and how much with each: the receipt. The user is erased while `finished_at` is null, and meanwhile no
-- call is made for the user. Calls that began before `epoch`, the access epoch in which it began, end without a trace.
create table erasure (
  erasure_id   bigint generated always as identity primary key,
  tenant_id    bigint not null references tenant on delete cascade,
  user_id      text collate "C" not null,
  scope_ids    bigint[] not null,                     -- those of the user, which are gone
  key_id       bigint,                                -- by which the erasure was asked for; null: on the machine itself
  epoch        bigint,
  begun_at     timestamptz not null default clock_timestamp(),
  finished_at  timestamptz,
  counts       jsonb not null default '{}'
);
create unique index erasure_open on erasure (tenant_id, user_id) where finished_at is null;
create index erasure_tenant on erasure (tenant_id, erasure_id);

alter table erasure enable row level security;
alter table erasure force row level security;
create policy maintains on erasure using ((select acting_as()) = 'owner');

create trigger raise_access_epoch_on_insert after insert on erasure
  referencing new table as added
  for each statement execute function raise_access_epoch();

-- Fail if a user is being erased, or was erased after an access epoch. The caller is in maintenance. SQLSTATE MX004, with
-- the time at which the erasure ended, or nothing while it goes on.
create function refuse_erased(tenant bigint, caller_user text, known_epoch bigint) returns void
language plpgsql stable
set search_path = public, pg_temp
as $$
declare
  ended timestamptz;
begin
  select coalesce(e.finished_at, 'infinity') into ended
    from public.erasure e
   where e.tenant_id = tenant
     and e.user_id = caller_user
     and (e.finished_at is null or e.epoch > known_epoch)
   order by e.finished_at desc nulls first
   limit 1;
  if found then
    raise exception 'the user is erased' using
      errcode = 'MX004',
      detail = case when ended < 'infinity' then to_json(ended) #>> '{}' else '' end;
  end if;
end
$$;
revoke all on function refuse_erased(bigint, text, bigint) from public;

create or replace function resolve_access(tenant bigint, caller_role text, caller_user text, key bigint, digest bytea)
returns table (epoch bigint, is_allowed boolean, rights bytea, scope_ids bigint[], kinds text[], keys text[],
               writables boolean[], languages text[], visitors_id bigint,
               secrets_remember text, secrets_files text)
language plpgsql volatile security definer
set search_path = public, pg_temp
as $$
begin
  perform set_config('memex.maintenance', 'on', true);
  -- The epoch first: what is read after it may be newer than the epoch, and never older.
  select t.access_epoch, t.secrets_remember, t.secrets_files
    into epoch, secrets_remember, secrets_files
    from public.tenant t
   where t.tenant_id = tenant;
  perform public.refuse_erased(tenant, caller_user, null);
  is_allowed := key is null or exists (
    select from public.api_key k
     where k.key_id = key
       and k.tenant_id = tenant
       and k.revoked_at is null
       and (digest is null or k.key_sha256 = digest)
       and k.role in (caller_role, 'admin')
       and (k.user_id is null or k.user_id = caller_user));
  select s.scope_id into visitors_id
    from public.scope s
   where s.tenant_id = tenant
     and s.kind = 'visitor'
     and s.key = '';
  perform set_config('memex.maintenance', '', true);
  if is_allowed then
    -- One statement: the digest is of the very rows that are returned. What is done about secrets counts as a right, so
    -- that a call with older rights notices when it is changed.
    select sha256(convert_to(string_agg(s::text, ' ' order by s.scope_id)
                             || coalesce(' ' || secrets_remember, '') || coalesce(' files ' || secrets_files, ''), 'UTF8')),
           array_agg(s.scope_id order by s.scope_id), array_agg(s.kind order by s.scope_id),
           array_agg(s.key order by s.scope_id), array_agg(s.writable order by s.scope_id),
           array_agg(s.language order by s.scope_id)
      into rights, scope_ids, kinds, keys, writables, languages
      from public.resolve_scopes(tenant, caller_role, caller_user) s;
  end if;
  return next;
end
$$;

create or replace function check_access(tenant bigint, caller_role text, caller_user text, key bigint, digest bytea,
                             known_epoch bigint, known_rights bytea, readable bigint[], writable bigint[])
returns bigint
language plpgsql volatile security definer
set search_path = public, pg_temp
as $$
declare
  epoch bigint;
  actual record;
begin
  perform set_config('memex.maintenance', 'on', true);
  select t.access_epoch into epoch from public.tenant t where t.tenant_id = tenant;
  if (epoch = known_epoch) is not true then
    perform public.refuse_erased(tenant, caller_user, known_epoch);
  end if;
  perform set_config('memex.maintenance', '', true);
  if (epoch = known_epoch) is not true then
    select * into actual from public.resolve_access(tenant, caller_role, caller_user, key, digest);
    if not actual.is_allowed then
      raise exception 'the key may not act for this caller any more' using errcode = 'MX001';
    end if;
    if actual.rights is distinct from known_rights
       and (known_rights is not null
            or not readable <@ coalesce(actual.scope_ids, '{}')
            or not writable <@ array(select s.scope_id
                                       from unnest(actual.scope_ids, actual.writables) as s (scope_id, is_writable)
                                      where s.is_writable)) then
      raise exception 'the rights of this caller are others now' using errcode = 'MX002';
    end if;
    epoch := actual.epoch;
  end if;
  return epoch;
end
$$;
