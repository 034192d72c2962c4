-- The access epoch of a tenant: it changes in the transaction that changes what a key, a member or a project opens.
-- A service keeps the rights of a caller in its memory together with the epoch, and each transaction compares.
-- It grows, and no value comes twice, not even after an older state of the database was restored: it is a time in
-- microseconds.
alter table tenant add column access_epoch bigint not null
  default (extract(epoch from clock_timestamp()) * 1000000)::bigint;

-- Set the access epochs of the tenants whose rows were changed. The owner does it, whoever made the change. The setting
-- is the function's own: a transaction in maintenance stays in maintenance.
create function raise_access_epoch() returns trigger
language plpgsql volatile security definer
set search_path = public, pg_temp
as $$
declare
  changed bigint[];
  maintenance text := coalesce(current_setting('memex.maintenance', true), '');
begin
  perform set_config('memex.maintenance', 'on', true);
  if tg_op = 'TRUNCATE' then
    select array_agg(t.tenant_id) into changed from public.tenant t;
  elsif tg_level = 'ROW' then
    changed := array[old.tenant_id, new.tenant_id];
  elsif tg_op = 'INSERT' then
    select array_agg(distinct r.tenant_id) into changed from added r;
  elsif tg_op = 'DELETE' then
    select array_agg(distinct r.tenant_id) into changed from removed r;
  else
    select array_agg(distinct r.tenant_id) into changed
      from (select a.tenant_id from added a union all select b.tenant_id from removed b) r;
  end if;
  update public.tenant t
     set access_epoch = greatest(t.access_epoch + 1, (extract(epoch from clock_timestamp()) * 1000000)::bigint)
   where t.tenant_id = any (changed);
  perform set_config('memex.maintenance', maintenance, true);
  return null;
end
$$;
revoke all on function raise_access_epoch() from public;

-- A new key raises nothing: nobody can have kept what an unknown key opens. Nor does a user's first call, or the first
-- one of a tenant, which makes a scope that no other caller may read.
create trigger raise_access_epoch_on_update after update on api_key
  referencing old table as removed new table as added
  for each statement execute function raise_access_epoch();
create trigger raise_access_epoch_on_delete after delete on api_key
  referencing old table as removed
  for each statement execute function raise_access_epoch();
create trigger raise_access_epoch_on_truncate after truncate on api_key
  for each statement execute function raise_access_epoch();

create trigger raise_access_epoch_on_insert after insert on project_member
  referencing new table as added
  for each statement execute function raise_access_epoch();
create trigger raise_access_epoch_on_update after update on project_member
  referencing old table as removed new table as added
  for each statement execute function raise_access_epoch();
create trigger raise_access_epoch_on_delete after delete on project_member
  referencing old table as removed
  for each statement execute function raise_access_epoch();
create trigger raise_access_epoch_on_truncate after truncate on project_member
  for each statement execute function raise_access_epoch();

-- Every write updates its scope, so these look at no other column and at no other statement.
create trigger raise_access_epoch_on_insert after insert on scope
  for each row when (new.kind = 'project') execute function raise_access_epoch();
create trigger raise_access_epoch_on_update after update of tenant_id, kind, key, language, closed_at on scope
  for each row
  when ((old.tenant_id, old.kind, old.key, old.language, old.closed_at)
        is distinct from (new.tenant_id, new.kind, new.key, new.language, new.closed_at))
  execute function raise_access_epoch();
create trigger raise_access_epoch_on_delete after delete on scope
  referencing old table as removed
  for each statement execute function raise_access_epoch();
create trigger raise_access_epoch_on_truncate after truncate on scope
  for each statement execute function raise_access_epoch();

-- What a caller may read and write now, whether its key may still act for it, and the epoch of that. A key is shown by
-- its digest; a call from the queue has only its number, and whoever runs commands on the machine has none. Nothing but
-- the epoch for a key that may not.
create function resolve_access(tenant bigint, caller_role text, caller_user text, key bigint, digest bytea)
returns table (epoch bigint, is_allowed boolean, rights bytea, scope_ids bigint[], kinds text[], keys text[],
               writables boolean[], languages text[])
language plpgsql volatile security definer
set search_path = public, pg_temp
as $$
begin
  perform set_config('memex.maintenance', 'on', true);
  -- The epoch first: what is read after it may be newer than the epoch, and never older.
  select t.access_epoch into epoch from public.tenant t where t.tenant_id = tenant;
  is_allowed := key is null or exists (
    select from public.api_key k
     where k.key_id = key
       and k.tenant_id = tenant
       and k.revoked_at is null
       and (digest is null or k.key_sha256 = digest)
       and k.role in (caller_role, 'admin')
       and (k.user_id is null or k.user_id = caller_user));
  perform set_config('memex.maintenance', '', true);
  if is_allowed then
    -- One statement: the digest is of the very rows that are returned.
    select sha256(convert_to(string_agg(s::text, ' ' order by s.scope_id), 'UTF8')),
           array_agg(s.scope_id order by s.scope_id), array_agg(s.kind order by s.scope_id),
           array_agg(s.key order by s.scope_id), array_agg(s.writable order by s.scope_id),
           array_agg(s.language order by s.scope_id)
      into rights, scope_ids, kinds, keys, writables, languages
      from public.resolve_scopes(tenant, caller_role, caller_user) s;
  end if;
  return next;
end
$$;
revoke all on function resolve_access(bigint, text, text, bigint, bytea) from public;

-- Fail unless a caller may still read and write what it could in an epoch; return the epoch that holds now. If the
-- tenant's epoch is another one, what the caller may do is looked up, so a change that is none of its own stops no
-- call. With `known_rights`, which resolve_access returned, nothing may be gained either. SQLSTATE MX001: the key was
-- revoked, or may not act for this caller any more. MX002: the rights are others.
create function check_access(tenant bigint, caller_role text, caller_user text, key bigint, digest bytea,
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
revoke all on function check_access(bigint, text, text, bigint, bytea, bigint, bytea, bigint[], bigint[]) from public;
