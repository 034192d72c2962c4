-- What the last events of some conversations say that no transcript has yet, the oldest first; `label` is the place of the
-- event. Of a session that moved, only words of the project or label `project`; null for all. No row if transcripts have
-- it all.
with wanted as (
  select %(project)s::text as label
   union
  select label from work_link where scope_id = %(scope_id)s and slug = %(project)s::text
   union
  select 'name:' || %(project)s::text
)
select event.event_no, event.conversation_id, event.happened_at as at, coalesce(event.metadata ->> 'label', '') as label,
       said.role, said.text
  from event
 cross join lateral jsonb_to_recordset(event.messages) as said (role text, text text)
 where event.scope_id = %(scope_id)s
   and event.conversation_id = any (%(conversation_ids)s::text[])
   and jsonb_typeof(event.messages) = 'array'
   and event.kind in ('prompt', 'stop')
   and (%(project)s::text is null
        or not event.metadata ? 'label'
        or event.metadata ->> 'label' in (select label from wanted))
 order by event.event_no
 limit %(limit)s::integer;
