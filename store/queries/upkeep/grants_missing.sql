-- The grants that the two roles lack, as statements; no row comes back when they have all. What the schema does not
-- hold yet, or cannot hold on this server, is left out. It only reads, so a standby answers as well.
with role as (
  select rolname
    from pg_roles
   where rolname in ('memex_agent', 'memex_admin')
     and (select count(*) from pg_roles where rolname in ('memex_agent', 'memex_admin')) = 2
), relation_grant (grantees, relations, privileges, columns) as (
  values
    ('{memex_agent,memex_admin}'::text[],
     '{scope,scope_stat,revision,link,chunk,posting,operation,prompt}'::text[], '{select}'::text[], null::text[]),
    ('{memex_agent,memex_admin}', '{revision,link,chunk,posting,operation,prompt}', '{insert}', null),
    ('{memex_agent,memex_admin}', '{scope}', '{update}', '{rev,last_at,analyzer}'),
    ('{memex_agent,memex_admin}', '{scope_stat,chunk,posting}', '{update}', null),
    ('{memex_agent,memex_admin}', '{revision}', '{update}', '{rev_end}'),  -- history cannot be rewritten
    ('{memex_agent,memex_admin}', '{link,chunk,posting}', '{delete}', null),
    ('{memex_admin}', '{tenant,project_member}', '{select}', null),
    ('{memex_admin}', '{project_member}', '{insert,delete}', null),
    ('{memex_admin}', '{scope,scope_stat}', '{insert}', null),
    ('{memex_admin}', '{scope}', '{update}', '{closed_at}'),
    ('{memex_agent,memex_admin}', '{chunk_removed}', '{select,insert,delete}', null),
    ('{memex_agent,memex_admin}', '{spend}', '{select,insert,update}', null),
    -- which rows, says their policy
    ('{memex_agent,memex_admin}', '{operation}', '{update}', '{status,tries,error_code,lease_until}'),
    ('{memex_admin}', '{eval_run}', '{select,insert,delete}', null),
    ('{memex_agent,memex_admin}', '{scope}', '{update}', '{standing_bytes,revisions,stored_bytes,counted_rev,journal_bytes}'),
    ('{memex_agent,memex_admin}', '{quota}', '{select}', null),
    ('{memex_admin}', '{quota}', '{insert,update,delete}', null),
    ('{memex_agent,memex_admin}', '{source,conversation,message,conversation_removed}',
     '{select,insert,delete}', null),
    ('{memex_agent,memex_admin}', '{source,conversation}', '{update}', null),
    ('{memex_agent,memex_admin}', '{message}', '{update}', '{position,parent,on_path}'),  -- no text is rewritten
    ('{memex_agent,memex_admin}', '{conversation_stat}', '{select,update}', null),
    ('{memex_admin}', '{log_hour}', '{select}', null),
    ('{memex_agent,memex_admin}', '{conversation_file}', '{select,insert,delete}', null),
    ('{memex_agent,memex_admin}', '{event}', '{select,insert,delete}', null),
    -- what stands in goes when the transcript has it
    ('{memex_agent,memex_admin}', '{event}', '{update}', '{messages}'),
    ('{memex_agent,memex_admin}', '{conversation_import}', '{select,insert,update,delete}', null),
    ('{memex_agent,memex_admin}', '{observation,work_derived,work_mark}', '{select,insert,delete}', null),
    ('{memex_agent,memex_admin}', '{work_derived}', '{update}', null),
    ('{memex_agent,memex_admin}', '{work_answer}', '{select,insert,update,delete}', null),
    ('{memex_agent,memex_admin}', '{citation,distilled}', '{select,insert,update,delete}', null),
    ('{memex_agent,memex_admin}', '{work_link}', '{select,insert,update,delete}', null),
    ('{memex_agent,memex_admin}', '{project_reading}', '{select,insert,delete}', null),
    ('{memex_agent,memex_admin}', '{document_root,document}', '{select,insert,update,delete}', null),
    ('{memex_agent,memex_admin}', '{document_stat}', '{select,update}', null),
    ('{memex_agent,memex_admin}', '{token_state,statement_state}', '{select}', null),
    ('{memex_agent,memex_admin}', '{told_again,statement,rival,tombstone}', '{select,insert,delete}', null),
    ('{memex_agent,memex_admin}', '{dream,proposal,proposal_edit}', '{select,insert,update,delete}', null),
    ('{memex_agent,memex_admin}', '{statement}', '{update}', '{rev_end,said_on,accepted_at}'),
    ('{memex_agent,memex_admin}', '{rival}', '{update}', '{rev_end}'),
    ('{memex_agent,memex_admin}', '{tombstone}', '{update}', '{rev_end,lifted_in}'),
    ('{memex_agent,memex_admin}', '{told_again}', '{update}', '{taken_back_in}'),
    ('{memex_agent}', '{my_files,my_revisions,my_conversations,my_messages,my_documents,my_calls}', '{select}', null),
    -- where the server has pgvector
    ('{memex_agent,memex_admin}', '{embedding,embedding_progress,embedding_hnsw}', '{select}', null)
), function_grant (grantees, name) as (
  values
    ('{memex_agent,memex_admin}'::text[],  -- a commit calls it again once it holds its locks
     'check_access(bigint,text,text,bigint,bytea,bigint,bytea,bigint[],bigint[])'),
    ('{memex_agent,memex_admin}', 'check_tenant_quota(bigint,jsonb,text,text)'),
    ('{memex_admin}', 'tenant_usage(bigint,text,text)'),
    ('{memex_agent,memex_admin}', 'count_write(jsonb)'),
    ('{memex_agent,memex_admin}', 'states_later(bigint[])'),
    ('{memex_agent,memex_admin}', 'remember_later(bigint,bigint)'),  -- where there is a queue of jobs
    ('{memex_agent,memex_admin}', 'embed_later(bigint[])'),  -- where the server has pgvector
    ('{memex_agent,memex_admin}', 'forget_vectors(bigint,bytea[])')
)
select format('grant usage on schema public to %I', rolname) as statement
  from role
 where not has_schema_privilege(rolname, 'public', 'usage')
union all
select format('grant usage on schema %I to %I', nspname, rolname)
  from role
 cross join pg_extension as installed
  join pg_namespace as namespace on namespace.oid = installed.extnamespace
 where installed.extname = 'vector'
   and not has_schema_privilege(rolname, namespace.oid, 'usage')
   and has_schema_privilege(namespace.oid, 'usage with grant option')
union all
select format('grant %s on %s to %I', privilege, relation, rolname)
  from relation_grant
  join role on rolname = any (grantees)
 cross join unnest(relations) as named (relation)
 cross join unnest(privileges) as wanted (privilege)
 where columns is null
   and not has_table_privilege(rolname, to_regclass(relation), privilege)
union all
select format('grant %s (%I) on %s to %I', privilege, attname, relation, rolname)
  from relation_grant
  join role on rolname = any (grantees)
 cross join unnest(relations) as named (relation)
 cross join unnest(privileges) as wanted (privilege)
  join pg_attribute on attrelid = to_regclass(relation) and attname = any (columns) and not attisdropped
 where not has_column_privilege(rolname, attrelid, attnum, privilege)
union all
select format('grant execute on function %s to %I', name, rolname)
  from function_grant
  join role on rolname = any (grantees)
 where not has_function_privilege(rolname, to_regprocedure(name), 'execute');
