-- The place of each folder that stands in the root of sessions which events placed: the label of the innermost root, and
-- the newest one of it. No row for a folder in no such root.
with roots as (
  select distinct on (event.metadata ->> 'root') event.metadata ->> 'root' as root, event.metadata ->> 'label' as label
    from event
   where event.scope_id = %(scope_id)s
     and event.metadata ? 'label'
     and event.kind <> 'tool'
     and event.metadata ->> 'root' <> ''
   order by event.metadata ->> 'root', event.event_no desc
)
select distinct on (wanted.folder) wanted.folder, roots.root, roots.label
  from unnest(%(folders)s::text[]) as wanted (folder)
  join roots
    on wanted.folder = roots.root
    or starts_with(wanted.folder, roots.root || '/')
 order by wanted.folder, length(roots.root) desc;
