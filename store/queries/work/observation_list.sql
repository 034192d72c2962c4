-- What messages on the path of some conversations say about work, with the words, in the order of messages. Of a session
-- that moved, only what was said in turns of the project or label; null for all. A turn is of the label of the events
-- that end it; what follows the last one, until a prompt elsewhere, is of the same. What a person says stands in the
-- transcript up to 5 seconds before its event. No row if they say nothing.
with asked as (
  select conversation_id
    from conversation
   where scope_id = %(scope_id)s
     and conversation_no = any (%(conversation_nos)s::bigint[])
),
wanted as (
  select %(project)s::text as label
   union
  select label from work_link where scope_id = %(scope_id)s and slug = %(project)s::text
   union
  select 'name:' || %(project)s::text
   where not exists (
           select from work_link where scope_id = %(scope_id)s and label = 'name:' || %(project)s::text)
),
heard as (
  select event.conversation_id, event.metadata ->> 'label' as label, event.happened_at, event.event_no,
         lead(event.metadata ->> 'label') over story as next_label, lead(event.happened_at) over story as next_at,
         lead(event.kind) over story in ('prompt', 'session_start') as next_begins
    from event
   where event.scope_id = %(scope_id)s
     and event.conversation_id = any (select conversation_id from asked)
     and event.metadata ? 'label'
     and event.kind <> 'tool'
  window story as (partition by event.conversation_id order by event.happened_at, event.event_no)
),
ends as (
  select conversation_id, label, happened_at, event_no,
         case when next_label is null then 'infinity'
              when next_begins then next_at
              else happened_at end as to_at,
         case when next_label is null then 'infinity'
              when next_begins then greatest(happened_at, next_at - interval '5 seconds')
              else happened_at end as asked_to
    from heard
   where next_label is distinct from label
),
roots as (
  select distinct on (root) event.metadata ->> 'root' as root, event.metadata ->> 'label' as label
    from event
   where event.scope_id = %(scope_id)s
     and event.metadata ? 'label'
     and event.kind <> 'tool'
     and event.metadata ->> 'root' <> ''
   order by root, event.event_no desc
),
spans as materialized (
  select conversation_id, label, to_at, asked_to,
         coalesce(lag(to_at) over story, '-infinity') as from_at,
         coalesce(lag(asked_to) over story, '-infinity') as asked_from
    from ends
  window story as (partition by conversation_id order by happened_at, event_no)
)
select observation.kind,
       substr(message.text, observation.start_char + 1, observation.end_char - observation.start_char) as text,
       observation.by_human, observation.is_firm, observation.confidence, said.at,
       conversation.conversation_id, observation.number, observation.start_char as start, observation.end_char as end,
       message.position,
       case when observation.kind = 'pending' and not observation.by_human or observation.kind = 'definition_of_done'
            then substr(message.text, greatest(observation.start_char - %(before_chars)s::integer, 0) + 1,
                        least(observation.start_char, %(before_chars)s::integer))
            else '' end as before,
       coalesce(spans.label, place.label,
                case when conversation.folder <> '' then 'cwd:' || conversation.folder
                     else 'import:' || conversation.project end) as label
  from observation
  join conversation
    on conversation.scope_id = observation.scope_id
   and conversation.conversation_no = observation.conversation_no
  join message
    on message.scope_id = observation.scope_id
   and message.conversation_no = observation.conversation_no
   and message.number = observation.number
  left join lateral (
         select roots.label
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
         select coalesce(message.said_at, conversation.last_at, conversation.imported_at) as at) said
  left join spans
    on spans.conversation_id = conversation.conversation_id
   and case when message.role = 'user' then said.at > spans.asked_from and said.at <= spans.asked_to
            else said.at > spans.from_at and said.at <= spans.to_at end
 where observation.scope_id = %(scope_id)s
   and observation.conversation_no = any (%(conversation_nos)s::bigint[])
   and message.on_path
   and (%(project)s::text is null or spans.label is null or spans.label in (select label from wanted))
 order by observation.conversation_no, message.position, observation.number, observation.place;
