-- The conversations whose work belongs to a project or a label, or the one of an id (ours or its client's), or all; the
-- newest first. A session that moved belongs to each label that one of its events has, but for events of tools, which may
-- touch other places. Without such an event the label is that of the sessions whose root holds the folder that the
-- transcript names, unless a person linked the folder itself; else `cwd:` before this folder, else `import:` before the
-- project that the source names. The project is that of the label's link; without a link the one
-- that a `name:` names. No row if there is none.
with wanted as (
  select %(project)s::text as label
   union
  select label from work_link where scope_id = %(scope_id)s and slug = %(project)s::text
   union
  select 'name:' || %(project)s::text
   where not exists (
           select from work_link where scope_id = %(scope_id)s and label = 'name:' || %(project)s::text)
),
here as (
  select distinct on (event.conversation_id) event.conversation_id, event.metadata ->> 'label' as label,
         event.project as name
    from event
   where event.scope_id = %(scope_id)s
     and event.metadata ? 'label'
     and event.kind <> 'tool'
     and (%(session)s::text is null or %(session)s::text in (event.conversation_id, event.session))
     and (%(project)s::text is null or event.metadata ->> 'label' in (select label from wanted))
   order by event.conversation_id, event.event_no desc
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
)
select conversation.conversation_no, conversation.conversation_id, conversation.title,
       coalesce(here.name, place.name, conversation.project) as label,
       coalesce(link.slug, substring(named.label from '^name:(.+)$')) as slug,
       conversation.started_at, conversation.last_at, conversation.next_number, conversation.sha256,
       conversation.imported_at, source.kind as source,
       derived.derived_to, derived.deriver_version, derived.sha256 as derived_sha256
  from conversation
  join source
    on source.scope_id = conversation.scope_id
   and source.source_id = conversation.source_id
  left join work_derived derived
    on derived.scope_id = conversation.scope_id
   and derived.conversation_no = conversation.conversation_no
  left join here
    on here.conversation_id = conversation.conversation_id
  left join lateral (
         select roots.label, roots.name, roots.root
           from roots
          where (conversation.folder = roots.root or starts_with(conversation.folder, roots.root || '/'))
            and not exists (
                  select
                    from work_link
                   where work_link.scope_id = %(scope_id)s
                     and work_link.label = 'cwd:' || conversation.folder)
          order by length(roots.root) desc
          limit 1) place on conversation.folder <> ''
 cross join lateral (
         select coalesce(here.label, place.label,
                         case when conversation.folder <> '' then 'cwd:' || conversation.folder
                              else 'import:' || conversation.project end) as label) named
  left join work_link link
    on link.scope_id = conversation.scope_id
   and link.label = named.label
 where conversation.scope_id = %(scope_id)s
   and (%(project)s::text is null
        or here.label is not null
        or (named.label in (select label from wanted)
            and not exists (
                  select
                    from event
                   where event.scope_id = conversation.scope_id
                     and event.conversation_id = conversation.conversation_id
                     and event.metadata ? 'label'
                     and event.kind <> 'tool')))
   and (%(session)s::text is null or %(session)s::text in (conversation.conversation_id, conversation.provider_id))
 order by conversation.last_at desc nulls last, conversation.conversation_no desc
 limit %(limit)s::integer;
