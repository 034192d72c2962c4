-- What is done about secrets, by tenant: in a text to remember, and in a file; null for what the settings of the service
-- say. It is read with the rights of a caller, and a change of it raises the access epoch.
alter table tenant add column secrets_remember text check (secrets_remember in ('redact', 'flag', 'refuse', 'off'));
alter table tenant add column secrets_files text check (secrets_files in ('redact', 'flag', 'refuse', 'off'));

drop function resolve_access(bigint, text, text, bigint, bytea);
create function resolve_access(tenant bigint, caller_role text, caller_user text, key bigint, digest bytea)
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
revoke all on function resolve_access(bigint, text, text, bigint, bytea) from public;
