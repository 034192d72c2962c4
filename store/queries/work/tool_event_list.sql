-- What clients report of tools in some conversations, one row for each tool, the newest first. Of a session that moved,
-- only in turns of the project or label, as in `observation_list`; null for all. No row if they report nothing.
with asked as (
  select unnest(%(conversation_ids)s::text[]) as conversation_id
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
spans as materialized (
  select conversation_id, label, to_at, asked_to,
         coalesce(lag(to_at) over story, '-infinity') as from_at,
         coalesce(lag(asked_to) over story, '-infinity') as asked_from
    from ends
  window story as (partition by conversation_id order by happened_at, event_no)
)
select event.event_no, event.conversation_id, event.happened_at as at, coalesce(tool.command, '') as command,
       tool.ok, coalesce(tool.paths, '{}') as paths, tool.duration_ms
  from event
 cross join lateral jsonb_to_recordset(event.tools)
         as tool (command text, ok boolean, paths text[], duration_ms bigint)
  left join spans
    on spans.conversation_id = event.conversation_id
   and event.happened_at > spans.from_at
   and event.happened_at <= spans.to_at
 where event.scope_id = %(scope_id)s
   and event.conversation_id = any (%(conversation_ids)s::text[])
   and jsonb_typeof(event.tools) = 'array'
   and (%(project)s::text is null or spans.label is null or spans.label in (select label from wanted))
 order by event.event_no desc
 limit %(limit)s::integer;
