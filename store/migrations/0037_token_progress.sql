-- How far the texts of a scope have token states of a model, where the server has no pgvector: where it has, vectors and
-- states are made together, and embedding_progress tells.
create table token_progress (
  scope_id   bigint not null,
  tenant_id  bigint not null,
  model      text collate "C" not null,
  rev        bigint not null,
  error      text,                                      -- what the last run failed with: a class, a status, a code
  at         timestamptz not null,
  primary key (scope_id, model)
);
alter table token_progress enable row level security;
alter table token_progress force row level security;
create policy maintains on token_progress using ((select acting_as()) = 'owner');

-- Have the token states of these scopes' new texts made once this transaction is committed; as embed_later, which comes
-- with pgvector. Needs the queue of jobs.
create function states_later(scopes bigint[])
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
revoke all on function states_later(bigint[]) from public;
