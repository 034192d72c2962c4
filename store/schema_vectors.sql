-- The schema of the vectors as it stands after their migrations, to be read: migrations make it, and a test builds a
-- database from each and compares them. It stands on schema.sql and on the queue of migrations/jobs.
create extension if not exists vector;

-- Which migrations of this series ran, and with what text. Closed to callers.
create table vectors_migration (
  version     integer primary key,
  name        text not null,
  sha256      bytea not null,
  applied_at  timestamptz not null default clock_timestamp()
);
alter table vectors_migration enable row level security;
alter table vectors_migration force row level security;
create policy maintains on vectors_migration using ((select acting_as()) = 'owner');

-- A vector belongs to a text, not to a place: an edit or a move embeds only what is new. Models and their
-- dimensions stand side by side. Rows are kept whole up to the size of a page, so that a scan reads no second table.
create table embedding (
  scope_id     bigint not null,
  tenant_id    bigint not null,
  model        text collate "C" not null,               -- provider, model, dimensions, revision
  text_sha256  bytea not null check (octet_length(text_sha256) = 32), -- as chunk.sha256: of the indexed text
  vector       halfvec not null,                        -- of length 1
  primary key (scope_id, model, text_sha256)
) with (toast_tuple_target = 8160);
create index chunk_sha256 on chunk (scope_id, sha256);

-- How far a scope is embedded by a model: all that stood there at `rev`. A row that is missing or wrong costs a
-- comparison and nothing else.
create table embedding_progress (
  scope_id   bigint not null,
  tenant_id  bigint not null,
  model      text collate "C" not null,
  rev        bigint not null,
  error      text,                                      -- what the last run failed with: a class, a status, a code
  at         timestamptz not null,
  primary key (scope_id, model)
);

-- The scopes that have an approximate index, which is worth its cost in very large ones only.
create table embedding_hnsw (
  scope_id    bigint not null,
  tenant_id   bigint not null,
  model       text collate "C" not null,
  dimensions  integer not null,
  built_at    timestamptz not null default clock_timestamp(),
  primary key (scope_id, model)
);

do $$
declare
  name text;
  is_owner text := $p$(select acting_as()) = 'owner'$p$;
  reads text := $p$tenant_id = (select acting_tenant())
    and (scope_id = any ((select readable_scopes())::bigint[]) or (select acting_as()) = 'admin')$p$;
  writes text := $p$tenant_id = (select acting_tenant())
    and (scope_id = any ((select writable_scopes())::bigint[]) or (select acting_as()) = 'admin')$p$;
begin
  foreach name in array array['embedding', 'embedding_progress', 'embedding_hnsw'] loop
    execute format('alter table %I enable row level security', name);
    execute format('alter table %I force row level security', name);
    execute format('create policy reads on %I for select using (%s or %s)', name, reads, is_owner);
  end loop;
  execute format('create policy inserts on embedding for insert with check (%s or %s)', writes, is_owner);
  execute format('create policy updates on embedding for update using (%s or %s)', writes, is_owner);
  execute format('create policy deletes on embedding for delete using (%s or %s)', writes, is_owner);
  foreach name in array array['embedding_progress', 'embedding_hnsw'] loop
    execute format('create policy maintains on %I using (%s)', name, is_owner);
  end loop;
end
$$;

-- Have the new texts of these scopes embedded once this transaction is committed. One job of a scope waits at a
-- time. One that waits already is held until the commit, so that it does not run on what was there before.
create function embed_later(scopes bigint[])
returns void
language plpgsql volatile security definer
set search_path = procrastinate, pg_temp
as $$
declare
  scope bigint;
  lock_name text;
begin
  for scope in select distinct named from unnest(scopes) as named order by named loop
    lock_name := 'embed_scope:' || scope;
    loop
      perform from procrastinate_jobs where queueing_lock = lock_name and status = 'todo' for share;
      exit when found;
      begin
        perform procrastinate_defer_jobs_v1(array[
          row('embedding', 'embed_scope', 0, lock_name, lock_name, jsonb_build_object('scope_id', scope), null)
        ]::procrastinate_job_to_defer_v1[]);
        exit;
      exception
        when unique_violation then null;  -- another transaction was first: its job is held on the next round
      end;
    end loop;
  end loop;
end
$$;

revoke all on function embed_later(bigint[]) from public;

-- Remove the vectors, of any model, of texts that stand nowhere in a scope any more: those of a conversation that is
-- deleted, in the same transaction. Callers themselves change no vectors.
create function forget_vectors(of_scope bigint, sha256s bytea[])
returns void
language plpgsql volatile security definer
set search_path = public, pg_temp
as $$
begin
  if not of_scope = any (writable_scopes()) then
    raise exception 'scope % is none that this caller writes', of_scope using errcode = 'insufficient_privilege';
  end if;
  perform set_config('memex.maintenance', 'on', true);
  delete from embedding
   where embedding.scope_id = of_scope
     and embedding.text_sha256 = any (sha256s)
     and not exists (
           select
             from chunk
            where chunk.scope_id = of_scope
              and chunk.sha256 = embedding.text_sha256
           offset 0);
  perform set_config('memex.maintenance', '', true);
end
$$;

revoke all on function forget_vectors(bigint, bytea[]) from public;
