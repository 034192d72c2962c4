-- Store the source, conversations and messages of an import, and what the scope holds with them; its lock is held.
-- Messages that are known move to another place in their conversation, or leave the path. No rows.
with counted as (
  update conversation_stat
     set conversations = %(conversations)s::bigint,
         messages = %(messages)s::bigint,
         text_bytes = %(text_bytes)s::bigint,
         next_id = %(next_id)s::bigint
   where scope_id = %(scope_id)s
),
origin as (
  insert into source (scope_id, tenant_id, source_id, kind, label, account, reader_version, imported_at, skipped)
  values (%(scope_id)s, %(tenant_id)s::bigint, %(source_id)s::bigint, %(kind)s, %(label)s, %(account)s,
          %(reader_version)s::integer, %(imported_at)s::timestamptz, %(skipped)s::jsonb)
  on conflict (scope_id, source_id) do update
    set reader_version = excluded.reader_version,
        imported_at = excluded.imported_at,
        skipped = excluded.skipped
),
written as (
  insert into conversation
    (scope_id, tenant_id, conversation_no, conversation_id, source_id, provider_id, title, project, started_at,
     last_at, is_complete, next_number, next_position, sha256, reader_version, imported_at, first_chunk_id,
     last_chunk_id, first_said_at, last_said_at, folder, branch)
  select %(scope_id)s, %(tenant_id)s::bigint, one.conversation_no, one.conversation_id, %(source_id)s::bigint,
         one.provider_id, one.title, one.project, one.started_at, one.last_at, one.is_complete, one.next_number,
         one.next_position, decode(one.sha256, 'hex'), %(reader_version)s::integer, %(imported_at)s::timestamptz,
         one.first_chunk_id, one.last_chunk_id, one.first_said_at, one.last_said_at, one.folder, one.branch
    from jsonb_to_recordset(%(written)s::jsonb)
         as one (conversation_no bigint, conversation_id text, provider_id text, title text, project text,
                 started_at timestamptz, last_at timestamptz, is_complete boolean, next_number integer,
                 next_position integer, sha256 text, first_chunk_id integer, last_chunk_id integer,
                 first_said_at timestamptz, last_said_at timestamptz, folder text, branch text)
  on conflict (scope_id, conversation_no) do update
    set source_id = excluded.source_id,
        title = coalesce(nullif(excluded.title, ''), conversation.title),
        project = coalesce(nullif(excluded.project, ''), conversation.project),
        started_at = excluded.started_at,
        last_at = excluded.last_at,
        is_complete = excluded.is_complete,
        next_number = excluded.next_number,
        next_position = excluded.next_position,
        sha256 = excluded.sha256,
        reader_version = excluded.reader_version,
        imported_at = excluded.imported_at,
        former_titles = case when conversation.title = any (array[excluded.title] || conversation.former_titles)
                               or cardinality(conversation.former_titles) >= 20
                             then conversation.former_titles
                             else array_append(conversation.former_titles, conversation.title) end,
        first_chunk_id = least(conversation.first_chunk_id, excluded.first_chunk_id),
        last_chunk_id = greatest(conversation.last_chunk_id, excluded.last_chunk_id),
        first_said_at = least(conversation.first_said_at, excluded.first_said_at),
        last_said_at = greatest(conversation.last_said_at, excluded.last_said_at),
        folder = coalesce(nullif(excluded.folder, ''), conversation.folder),
        branch = coalesce(nullif(excluded.branch, ''), conversation.branch)
),
moved as (
  update message
     set position = one.position,
         parent = one.parent,
         on_path = one.on_path
    from jsonb_to_recordset(%(moved)s::jsonb)
         as one (message_id bigint, position integer, parent integer, on_path boolean)
   where message.scope_id = %(scope_id)s
     and message.message_id = one.message_id
)
insert into message
  (scope_id, tenant_id, message_id, conversation_no, number, position, parent, role, part, author, text, sha256,
   said_at, model, human_authored, on_path, origin, provider_id)
select %(scope_id)s, %(tenant_id)s::bigint, one.message_id, one.conversation_no, one.number, one.position, one.parent,
       one.role, one.part, one.author, one.text, decode(one.sha256, 'hex'), one.said_at, one.model,
       one.human_authored, one.on_path, one.origin, one.provider_id
  from jsonb_to_recordset(%(added)s::jsonb)
       as one (message_id bigint, conversation_no bigint, number integer, position integer, parent integer, role text,
               part text, author text, text text, sha256 text, said_at timestamptz, model text,
               human_authored boolean, on_path boolean, origin text, provider_id text);
