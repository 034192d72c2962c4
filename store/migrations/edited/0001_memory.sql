-- The earlier texts of 0001 had other policies and functions, and some had no revision.tag_keys. The tags are folded as
-- far as the server can; `memex index rebuild --only-stale` folds them as all servers agree.
alter table revision add column if not exists tag_keys text[] collate "C";
update revision
   set tag_keys = array(select lower(normalize(tag)) from unnest(tags) with ordinality as t (tag, n) order by n)
 where tag_keys is null;
alter table revision alter column tag_keys set not null;

do $$
declare
  policy record;
begin
  for policy in
    select tablename, policyname from pg_policies
     where schemaname = 'public' and tablename = any (array[
       'tenant', 'api_key', 'scope', 'project_member', 'revision', 'link', 'chunk', 'posting', 'scope_stat',
       'operation', 'prompt', 'schema_migration']) loop
    execute format('drop policy %I on %I', policy.policyname, policy.tablename);
  end loop;
end
$$;

-- One policy a command, so that a statement evaluates few conditions: the owner in maintenance sees all, an
-- admin its tenant's rows, an agent its scopes' rows of its tenant.
do $$
declare
  name text;
  is_owner text := $p$(select acting_as()) = 'owner'$p$;
  is_admin text := $p$tenant_id = (select acting_tenant()) and (select acting_as()) = 'admin'$p$;
  reads text := $p$tenant_id = (select acting_tenant())
    and (scope_id = any ((select readable_scopes())::bigint[]) or (select acting_as()) = 'admin')$p$;
  writes text := $p$tenant_id = (select acting_tenant())
    and (scope_id = any ((select writable_scopes())::bigint[]) or (select acting_as()) = 'admin')$p$;
begin
  foreach name in array array[
    'tenant', 'api_key', 'scope', 'project_member', 'revision', 'link', 'chunk', 'posting', 'scope_stat',
    'operation', 'prompt', 'schema_migration'] loop
    execute format('alter table %I enable row level security', name);
    execute format('alter table %I force row level security', name);
  end loop;

  foreach name in array array['scope', 'revision', 'link', 'chunk', 'posting', 'scope_stat', 'operation'] loop
    execute format('create policy reads on %I for select using (%s or %s)', name, reads, is_owner);
    execute format('create policy inserts on %I for insert with check (%s or %s)', name, writes, is_owner);
  end loop;
  -- Revisions stay and the log only grows: but for the owner's retention and erasure nothing takes them away.
  foreach name in array array['scope', 'link', 'chunk', 'posting', 'scope_stat'] loop
    execute format('create policy updates on %I for update using (%s or %s)', name, writes, is_owner);
  end loop;
  -- An open revision can be closed, once; nothing else of history can be changed.
  execute format(
    'create policy updates on revision for update using (%s and rev_end is null or %s) '
    'with check (%s and rev_end is not null or %s)', writes, is_owner, writes, is_owner);
  foreach name in array array['link', 'chunk', 'posting'] loop
    execute format('create policy deletes on %I for delete using (%s or %s)', name, writes, is_owner);
  end loop;
  foreach name in array array['scope', 'revision', 'scope_stat', 'operation'] loop
    execute format('create policy erases on %I for delete using (%s)', name, is_owner);
  end loop;
  execute format('create policy erases_from on operation for update using (%s)', is_owner);

  foreach name in array array['tenant', 'project_member'] loop
    execute format('create policy administers on %I using (%s or %s)', name, is_admin, is_owner);
  end loop;
  foreach name in array array['api_key', 'schema_migration'] loop
    execute format('create policy maintains on %I using (%s)', name, is_owner);
  end loop;
  execute format('create policy keeps on prompt using (tenant_id = (select acting_tenant()) or %s)', is_owner);
end
$$;

-- The key with this digest. No row when it is unknown or revoked.
create or replace function authenticate(sha256 bytea)
returns table (key_id bigint, tenant_id bigint, role text, user_id text)
language plpgsql volatile security definer
set search_path = public, pg_temp
as $$
begin
  perform set_config('memex.maintenance', 'on', true);
  return query
    select k.key_id, k.tenant_id, k.role, k.user_id
      from public.api_key k
     where k.key_sha256 = authenticate.sha256
       and k.revoked_at is null;
  perform set_config('memex.maintenance', '', true);
end
$$;

-- The scopes that a caller may read, and whether it may write them. An agent's: its user's, the shared ones,
-- the projects its user is a member of. An admin's: a named user's, the shared ones, every open project.
create or replace function resolve_scopes(tenant bigint, caller_role text, caller_user text)
returns table (scope_id bigint, kind text, key text, writable boolean)
language plpgsql volatile security definer
set search_path = public, pg_temp
as $$
begin
  perform set_config('memex.maintenance', 'on', true);
  return query
    select s.scope_id, s.kind, s.key, s.kind = 'user' or caller_role = 'admin'
      from public.scope s
     where s.tenant_id = tenant
       and (s.kind = 'user' and s.key = caller_user
            or s.kind = 'shared' and s.key = ''
            or s.kind = 'admin' and s.key = '' and caller_role = 'admin')
    union all
    select s.scope_id, s.kind, s.key, true
      from public.project_member m
      join public.scope s on s.scope_id = m.scope_id
     where caller_role = 'agent'
       and m.tenant_id = tenant
       and m.user_id = caller_user
       and s.closed_at is null
    union all
    select s.scope_id, s.kind, s.key, true
      from public.scope s
     where caller_role = 'admin'
       and s.tenant_id = tenant
       and s.kind = 'project'
       and s.closed_at is null;
  perform set_config('memex.maintenance', '', true);
end
$$;

-- Make a scope that a first call needs, or leave it as it is. Projects are made by admins only.
create or replace function ensure_scope(tenant bigint, scope_kind text, scope_key text)
returns void
language plpgsql volatile security definer
set search_path = public, pg_temp
as $$
declare
  made bigint;
begin
  if scope_kind not in ('user', 'shared', 'admin') then
    raise exception 'ensure_scope makes no % scope', scope_kind;
  end if;
  perform set_config('memex.maintenance', 'on', true);
  insert into public.scope (tenant_id, kind, key)
  values (tenant, scope_kind, scope_key)
  on conflict (tenant_id, kind, key) do nothing
  returning scope_id into made;
  if made is not null then
    insert into public.scope_stat (scope_id, tenant_id) values (made, tenant);
  end if;
  perform set_config('memex.maintenance', '', true);
end
$$;

revoke all on function authenticate(bytea) from public;
revoke all on function resolve_scopes(bigint, text, text) from public;
revoke all on function ensure_scope(bigint, text, text) from public;
