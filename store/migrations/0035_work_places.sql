-- The folder and the branch in which a session took place, as its transcript names them; '' where it names none.
alter table conversation add column folder text collate "C" not null default '';
alter table conversation add column branch text collate "C" not null default '';

-- Places of sessions by session and by label. Events of tools may touch other places.
drop index event_label;
create index event_place on event (scope_id, conversation_id, event_no desc) where metadata ? 'label' and kind <> 'tool';
create index event_label on event (scope_id, (metadata ->> 'label'))
  where metadata ? 'label' and kind <> 'tool';
