-- The web UI: who is signed in, and the links by which the terminal of the service signs a browser in.
create table ui_session (
  session_id    bigint generated always as identity primary key,
  tenant_id     bigint not null references tenant on delete cascade,
  token_sha256  bytea not null unique check (octet_length(token_sha256) = 32),
  key_id        bigint references api_key on delete cascade,  -- that opened it; null: a link of the terminal did
  role          text not null check (role in ('agent', 'admin')),
  user_id       text collate "C",                     -- whose memory it shows; null: an admin's who named nobody
  created_at    timestamptz not null default clock_timestamp(),
  expires_at    timestamptz not null,
  used_at       timestamptz not null default clock_timestamp(),
  revoked_at    timestamptz
);
create index ui_session_tenant on ui_session (tenant_id, session_id);

create table ui_link (
  link_id       bigint generated always as identity primary key,
  tenant_id     bigint not null references tenant on delete cascade,
  token_sha256  bytea not null unique check (octet_length(token_sha256) = 32),
  user_id       text collate "C",
  created_at    timestamptz not null default clock_timestamp(),
  expires_at    timestamptz not null,
  spent_at      timestamptz
);

do $$
declare
  name text;
begin
  foreach name in array array['ui_session', 'ui_link'] loop
    execute format('alter table %I enable row level security', name);
    execute format('alter table %I force row level security', name);
    execute format('create policy maintains on %I using ((select acting_as()) = ''owner'')', name);
  end loop;
end
$$;

-- The session of the web UI with this digest, and the key that opened it. No row when the session is unknown, was
-- revoked or has expired, or when its key was revoked.
create function authenticate_session(sha256 bytea)
returns table (session_id bigint, tenant_id bigint, role text, user_id text, created_at timestamptz,
               expires_at timestamptz, used_at timestamptz, key_id bigint, key_sha256 bytea, bound_user text)
language plpgsql volatile security definer
set search_path = public, pg_temp
as $$
begin
  perform set_config('memex.maintenance', 'on', true);
  return query
    select s.session_id, s.tenant_id, s.role, s.user_id, s.created_at, s.expires_at, s.used_at,
           k.key_id, k.key_sha256, k.user_id
      from public.ui_session s
      left join public.api_key k on k.key_id = s.key_id
     where s.token_sha256 = authenticate_session.sha256
       and s.revoked_at is null
       and s.expires_at > clock_timestamp()
       and (s.key_id is null or k.revoked_at is null);
  perform set_config('memex.maintenance', '', true);
end
$$;
revoke all on function authenticate_session(bytea) from public;
