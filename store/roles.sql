-- The two roles that every request acts as, and what each may do. Run after the migrations, each time, because
-- roles belong to the whole server: another database may be making them at the same moment.
do $$
declare
  name text;
begin
  foreach name in array array['memex_agent', 'memex_admin'] loop
    if not exists (select from pg_roles where rolname = name) then
      begin
        execute format('create role %I nologin', name);
      exception
        when duplicate_object or unique_violation then null;  -- another database was first
        when insufficient_privilege then return;              -- FORCE binds the owner instead
      end;
    end if;
    if not pg_has_role(current_user, name, 'member') or current_setting('is_superuser') = 'off' then
      begin
        execute format('grant %I to current_user', name);
      exception
        when insufficient_privilege then null;
      end;
    end if;
  end loop;
end
$$;

do $$
begin
  if not exists (select from pg_roles where rolname = 'memex_agent')
     or not exists (select from pg_roles where rolname = 'memex_admin') then
    return;
  end if;
  execute format('grant usage on schema public to memex_agent, memex_admin');

  grant select on scope, scope_stat, revision, link, chunk, posting, operation, prompt to memex_agent, memex_admin;
  grant insert on revision, link, chunk, posting, operation, prompt to memex_agent, memex_admin;
  grant update (rev, last_at, analyzer) on scope to memex_agent, memex_admin;
  grant update on scope_stat, chunk, posting to memex_agent, memex_admin;
  grant update (rev_end) on revision to memex_agent, memex_admin;   -- history cannot be rewritten
  grant delete on link, chunk, posting to memex_agent, memex_admin;

  grant select on tenant, project_member to memex_admin;
  grant insert, delete on project_member to memex_admin;
  grant insert on scope, scope_stat to memex_admin;
  grant update (closed_at) on scope to memex_admin;

  if to_regclass('chunk_removed') is not null then  -- not yet in a database that stopped at migration 2
    grant select, insert, delete on chunk_removed to memex_agent, memex_admin;
  end if;

  if to_regclass('spend') is not null then  -- as above, at migration 5
    grant select, insert, update on spend to memex_agent, memex_admin;
  end if;

  if exists (select from pg_attribute where attrelid = 'operation'::regclass and attname = 'tries') then
    -- as above, at migration 6; which rows, says their policy
    grant update (status, tries, error_code, lease_until) on operation to memex_agent, memex_admin;
  end if;

  if to_regclass('eval_run') is not null then  -- as above, at migration 7
    grant select, insert, delete on eval_run to memex_admin;
  end if;

  if to_regprocedure('check_access(bigint,text,text,bigint,bytea,bigint,bytea,bigint[],bigint[])') is not null then
    -- as above, at migration 9: a commit calls it again once it holds its locks
    grant execute on function check_access(bigint, text, text, bigint, bytea, bigint, bytea, bigint[], bigint[])
      to memex_agent, memex_admin;
  end if;

  if to_regclass('quota') is not null then  -- as above, at migration 12
    grant update (standing_bytes, revisions, stored_bytes, counted_rev) on scope to memex_agent, memex_admin;
    grant select on quota to memex_agent, memex_admin;
    grant insert, update, delete on quota to memex_admin;
    grant execute on function check_tenant_quota(bigint, jsonb) to memex_agent, memex_admin;
    grant execute on function tenant_usage(bigint) to memex_admin;
  end if;
  if to_regclass('write_rate') is not null then  -- as above, at migration 20
    grant execute on function count_write(jsonb) to memex_agent, memex_admin;
  end if;

  if to_regclass('message') is not null then  -- as above, at migration 18
    grant select, insert, delete on source, conversation, message, conversation_removed to memex_agent, memex_admin;
    grant update on source, conversation to memex_agent, memex_admin;
    grant update (position, parent, on_path) on message to memex_agent, memex_admin;  -- no text is rewritten
    grant select, update on conversation_stat to memex_agent, memex_admin;
  end if;

  if to_regclass('log_hour') is not null then  -- as above, at migration 21
    grant select on log_hour to memex_admin;
  end if;

  if to_regclass('conversation_file') is not null then  -- as above, at migration 23
    grant select, insert, delete on conversation_file to memex_agent, memex_admin;
  end if;

  if to_regclass('event') is not null then  -- as above, at migration 31
    grant select, insert, delete on event to memex_agent, memex_admin;
    grant update (messages) on event to memex_agent, memex_admin;  -- what stands in goes when the transcript has it
  end if;

  if to_regclass('conversation_import') is not null then  -- as above, at migration 25
    grant select, insert, update, delete on conversation_import to memex_agent, memex_admin;
  end if;

  if to_regclass('observation') is not null then  -- as above, at migration 31
    grant select, insert, delete on observation, work_derived, work_mark to memex_agent, memex_admin;
    grant update on work_derived to memex_agent, memex_admin;
  end if;

  if to_regclass('work_answer') is not null then  -- as above, at migration 37
    grant select, insert, update, delete on work_answer to memex_agent, memex_admin;
  end if;

  if to_regclass('citation') is not null then  -- as above, at migration 28
    grant select, insert, update, delete on citation, distilled to memex_agent, memex_admin;
  end if;

  if to_regclass('work_link') is not null then  -- as above, at migration 32
    grant select, insert, update, delete on work_link to memex_agent, memex_admin;
  end if;

  if to_regclass('project_reading') is not null then  -- as above, at migration 33
    grant select, insert, delete on project_reading to memex_agent, memex_admin;
  end if;

  if to_regclass('document') is not null then  -- as above, at migration 33
    grant select, insert, update, delete on document_root, document to memex_agent, memex_admin;
    grant select, update on document_stat to memex_agent, memex_admin;
  end if;

  if to_regclass('token_state') is not null then  -- as above, at migration 36
    grant select on token_state to memex_agent, memex_admin;
  end if;
  if to_regclass('statement_state') is not null then  -- as above, at migration 40
    grant select on statement_state to memex_agent, memex_admin;
  end if;
  if to_regprocedure('states_later(bigint[])') is not null then  -- as above, at migration 37
    grant execute on function states_later(bigint[]) to memex_agent, memex_admin;
  end if;

  if to_regclass('my_messages') is not null then  -- as above, at migration 22
    grant select on my_files, my_revisions, my_conversations, my_messages, my_documents, my_calls to memex_agent;
  end if;

  if to_regprocedure('remember_later(bigint,bigint)') is not null then  -- where there is a queue of jobs
    grant execute on function remember_later(bigint, bigint) to memex_agent, memex_admin;
  end if;

  if to_regclass('vectors_migration') is not null then  -- where the server has pgvector
    grant select on embedding, embedding_progress, embedding_hnsw to memex_agent, memex_admin;
    grant execute on function embed_later(bigint[]) to memex_agent, memex_admin;
    if to_regprocedure('forget_vectors(bigint,bytea[])') is not null then
      grant execute on function forget_vectors(bigint, bytea[]) to memex_agent, memex_admin;
    end if;
  end if;
end
$$;
