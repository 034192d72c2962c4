-- Words can be erased for good, in every version that holds them: one row an erasure, and marks on what it changed.

alter table revision add column erased boolean not null default false;

-- Which words were erased, told by salted digests, and how much with them: the receipt. Calls that began before `epoch`,
-- the access epoch that it raised last, end without a trace, since they may have read the words.
create table word_erasure (
  erasure_id   text collate "C" primary key check (erasure_id ~ '^[0-9a-f]{24}$'),
  tenant_id    bigint not null references tenant on delete cascade,
  user_id      text collate "C",                      -- whose memory; null: shared files and projects alone
  is_wide      boolean not null,                      -- whether shared files and projects are meant too
  token        text collate "C" not null unique,      -- of the preview that was confirmed
  entry        jsonb not null,                        -- as the ledger has it: the salt and the digests, and no word
  epoch        bigint,
  raised_at    timestamptz,
  scope_ids    bigint[] not null default '{}',        -- whose index is to be made anew
  touched      text[] not null default '{}',          -- shared versions that held the words, until the end
  counts       jsonb not null default '{}',
  begun_at     timestamptz not null default clock_timestamp(),
  finished_at  timestamptz
);
create index word_erasure_tenant on word_erasure (tenant_id, epoch);

do $$
begin
  alter table word_erasure enable row level security;
  alter table word_erasure force row level security;
  create policy maintains on word_erasure using ((select acting_as()) = 'owner');
end
$$;

create or replace function refuse_erased(tenant bigint, caller_user text, known_epoch bigint) returns void
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
  select max(w.raised_at) into ended
    from public.word_erasure w
   where w.tenant_id = tenant
     and w.epoch > known_epoch
     and (w.is_wide or w.user_id = caller_user);
  if ended is not null then
    raise exception 'words were erased' using errcode = 'MX006', detail = to_json(ended) #>> '{}';
  end if;
end
$$;
