-- What a transaction of the login for agents says of its caller is sealed by the service, so that SQL in the
-- transaction cannot say something else.

-- The key of the seals, as HMAC-SHA256 takes it (RFC 2104): padded, and mixed with ipad and opad. One row, made by the
-- first service with a login for agents. Only the owner, and functions of the owner, can read it.
create table seal (
  is_only    boolean primary key default true check (is_only),
  inner_key  bytea not null check (octet_length(inner_key) = 64),
  outer_key  bytea not null check (octet_length(outer_key) = 64)
);
alter table seal enable row level security;
alter table seal force row level security;
create policy keeps on seal using ((select acting_as()) = 'owner' or current_user <> session_user);

-- Whether the settings that say who acts are those that the service has sealed.
create function is_sealed() returns boolean
language plpgsql stable security definer parallel safe
set search_path = public, pg_temp
as $$
declare
  key public.seal;
begin
  -- By its key: sequential scans are off, and a cost above all others would be compiled.
  select * into key from public.seal where is_only;
  return encode(sha256(key.outer_key || sha256(key.inner_key || convert_to(
           coalesce(current_setting('memex.tenant', true), '') || '|' ||
           coalesce(current_setting('memex.readable', true), '') || '|' ||
           coalesce(current_setting('memex.writable', true), '') || '|' ||
           coalesce(current_setting('memex.visitors', true), '') || '|' ||
           coalesce(current_setting('memex.user', true), ''), 'UTF8'))), 'hex') = current_setting('memex.seal', true);
end
$$;

-- The tenant, and with it all that policies compare besides. A login that may become an administrator could say
-- anything; the login for agents needs a seal. Every policy asks for the tenant, so a seal that does not fit shows no row.
create or replace function acting_tenant() returns bigint language sql stable parallel safe
return case when current_user <> 'memex_agent' or pg_has_role(session_user, 'memex_admin', 'member') or is_sealed()
            then nullif(current_setting('memex.tenant', true), '')::bigint end;
