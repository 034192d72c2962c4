-- A scope's files are read in its language. New scopes are made in the language that the service is set to; a new
-- project in that of the tenant's shared files.
drop function resolve_scopes(bigint, text, text);
create function resolve_scopes(tenant bigint, caller_role text, caller_user text)
returns table (scope_id bigint, kind text, key text, writable boolean, language text)
language plpgsql volatile security definer
set search_path = public, pg_temp
as $$
begin
  perform set_config('memex.maintenance', 'on', true);
  return query
    select s.scope_id, s.kind, s.key, s.kind = 'user' or caller_role = 'admin', s.language
      from public.scope s
     where s.tenant_id = tenant
       and (s.kind = 'user' and s.key = caller_user
            or s.kind = 'shared' and s.key = ''
            or s.kind = 'admin' and s.key = '' and caller_role = 'admin')
    union all
    select s.scope_id, s.kind, s.key, true, s.language
      from public.project_member m
      join public.scope s on s.scope_id = m.scope_id
     where caller_role = 'agent'
       and m.tenant_id = tenant
       and m.user_id = caller_user
       and s.closed_at is null
    union all
    select s.scope_id, s.kind, s.key, true, s.language
      from public.scope s
     where caller_role = 'admin'
       and s.tenant_id = tenant
       and s.kind = 'project'
       and s.closed_at is null;
  perform set_config('memex.maintenance', '', true);
end
$$;
revoke all on function resolve_scopes(bigint, text, text) from public;

drop function ensure_scope(bigint, text, text);
create function ensure_scope(tenant bigint, scope_kind text, scope_key text, scope_language text)
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
revoke all on function ensure_scope(bigint, text, text, text) from public;
