-- A call that only reads makes no scope for its user any more: it is logged in one scope of the tenant, whose log shows an
-- agent only the rows of its user.
alter table scope drop constraint scope_kind_check;
alter table scope add constraint scope_kind_check check (kind in ('user', 'shared', 'project', 'admin', 'visitor'));

create index operation_user on operation (scope_id, user_id, operation_id) where parent_id is null;

create function acting_user() returns text language sql stable parallel safe
return coalesce(current_setting('memex.user', true), '');

create function visitors_scope() returns bigint language sql stable parallel safe
return nullif(current_setting('memex.visitors', true), '')::bigint;

do $$
declare
  is_owner text := $p$(select acting_as()) = 'owner'$p$;
  reads text := $p$tenant_id = (select acting_tenant())
    and (scope_id = any ((select readable_scopes())::bigint[]) or (select acting_as()) = 'admin')$p$;
  writes text := $p$tenant_id = (select acting_tenant())
    and (scope_id = any ((select writable_scopes())::bigint[]) or (select acting_as()) = 'admin')$p$;
begin
  drop policy reads on operation;
  drop policy inserts on operation;
  -- Many users share the log of visitors.
  execute format(
    'create policy reads on operation for select using (%s and (scope_id is distinct from (select visitors_scope()) '
    'or user_id = (select acting_user()) or (select acting_as()) = ''admin'') or %s)', reads, is_owner);
  execute format(
    'create policy inserts on operation for insert with check (%s or %s or tenant_id = (select acting_tenant()) '
    'and scope_id = (select visitors_scope()) and user_id = (select acting_user()))', writes, is_owner);
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
  if scope_kind not in ('user', 'shared', 'admin', 'visitor') then
    raise exception 'ensure_scope makes no % scope', scope_kind;
  end if;
  perform set_config('memex.maintenance', 'on', true);
  insert into public.scope (tenant_id, kind, key, language)
  values (tenant, scope_kind, scope_key, scope_language)
  on conflict (tenant_id, kind, key) do nothing
  returning scope_id into made;
  if made is not null then
    insert into public.scope_stat (scope_id, tenant_id) values (made, tenant);
  end if;
  perform set_config('memex.maintenance', '', true);
end
$$;

drop function resolve_access(bigint, text, text, bigint, bytea);
-- What a caller may read and write now, whether its key may still act for it, and the epoch of that. A key is shown by
-- its digest; a call from the queue has only its number, and whoever runs commands on the machine has none. Nothing but
-- the epoch for a key that may not. The scope of visitors is none of the rights: it is no secret, and holds no files.
create function resolve_access(tenant bigint, caller_role text, caller_user text, key bigint, digest bytea)
returns table (epoch bigint, is_allowed boolean, rights bytea, scope_ids bigint[], kinds text[], keys text[],
               writables boolean[], languages text[], visitors_id bigint)
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
  select s.scope_id into visitors_id
    from public.scope s
   where s.tenant_id = tenant
     and s.kind = 'visitor'
     and s.key = '';
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
