-- The sessions of a user with the place of each, the newest turn first: conversations that have a folder, a project or an
-- event with a label. A session that moved is listed once for each label. A session is of a project as in
-- `conversation_of_project`. No row if there is none.
with placed as (
  select distinct on (event.conversation_id, event.metadata ->> 'label') event.conversation_id,
         event.metadata ->> 'label' as label, event.project as name, event.cwd as folder,
         coalesce(event.metadata ->> 'branch', '') as branch, coalesce(event.metadata ->> 'root', '') as root,
         event.runtime, event.happened_at, event.event_no
    from event
   where event.scope_id = %(scope_id)s
     and event.metadata ? 'label'
     and event.kind <> 'tool'
   order by event.conversation_id, event.metadata ->> 'label', event.event_no desc
),
heard as (
  select placed.*, row_number() over (partition by conversation_id order by event_no desc) = 1 as is_newest
    from placed
),
known as (
  select conversation.conversation_id, conversation.title, conversation.project, conversation.folder,
         conversation.branch, conversation.started_at, conversation.last_at,
         conversation.next_number - 1 as messages, source.kind as source
    from conversation
    join source
      on source.scope_id = conversation.scope_id
     and source.source_id = conversation.source_id
   where conversation.scope_id = %(scope_id)s
),
roots as (
  select distinct on (event.metadata ->> 'root') event.metadata ->> 'root' as root, event.metadata ->> 'label' as label,
         event.project as name
    from event
   where event.scope_id = %(scope_id)s
     and event.metadata ? 'label'
     and event.kind <> 'tool'
     and event.metadata ->> 'root' <> ''
   order by event.metadata ->> 'root', event.event_no desc
),
session as (
  select coalesce(known.conversation_id, heard.conversation_id) as conversation_id, coalesce(known.title, '') as title,
         coalesce(heard.label, place.label,
                  case when known.folder <> '' then 'cwd:' || known.folder else 'import:' || known.project end) as label,
         coalesce(heard.name, place.name, known.project) as name, coalesce(heard.folder, known.folder, '') as folder,
         coalesce(heard.branch, known.branch, '') as branch, coalesce(heard.root, place.root, known.folder, '') as root,
         coalesce(known.source, heard.runtime) as source, coalesce(known.messages, 0) as messages,
         coalesce(known.started_at, heard.happened_at) as started_at,
         case when heard.is_newest is not false then greatest(known.last_at, heard.happened_at)
              else heard.happened_at end as last_at
    from known
    full join heard using (conversation_id)
    left join lateral (
           select roots.label, roots.name, roots.root
             from roots
            where (known.folder = roots.root or starts_with(known.folder, roots.root || '/'))
              and not exists (
                    select
                      from work_link
                     where work_link.scope_id = %(scope_id)s
                       and work_link.label = 'cwd:' || known.folder)
            order by length(roots.root) desc
            limit 1) place on known.folder <> ''
   where heard.label is not null
      or known.project <> ''
      or known.folder <> ''
)
select session.*, coalesce(link.slug, substring(session.label from '^name:(.+)$')) as slug,
       link.slug is not null as is_linked
  from session
  left join work_link link
    on link.scope_id = %(scope_id)s
   and link.label = session.label
 where %(project)s::text is null
    or session.label = %(project)s::text
    or coalesce(link.slug, substring(session.label from '^name:(.+)$')) = %(project)s::text
 order by session.last_at desc nulls last, session.conversation_id, session.label
 limit %(limit)s::integer;
