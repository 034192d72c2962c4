-- Add events in the order in which they are given; the row of `conversation_stat` is locked. Events that are known stay
-- as they are, and the oldest ones over `max_events` go. A row for each event that was added: its place among the given.
with given as (
  select one.*
    from jsonb_to_recordset(%(events)s::jsonb)
         as one (place integer, runtime text, session text, turn text, name text, conversation_id text, kind text,
                 happened_at timestamptz, project text, cwd text, messages jsonb, tools jsonb, metadata jsonb)
   where not exists (
           select
             from event
            where event.scope_id = %(scope_id)s
              and event.runtime = one.runtime
              and event.session = one.session
              and event.turn = one.turn
              and event.name = one.name)
),
counted as (
  update conversation_stat
     set next_event = next_event + (select count(*) from given)
   where scope_id = %(scope_id)s
  returning next_event
),
outgrown as (
  delete from event
   using counted
   where event.scope_id = %(scope_id)s
     and event.event_no < counted.next_event - %(max_events)s::bigint
),
added as (
  insert into event
    (scope_id, tenant_id, event_no, runtime, session, turn, name, conversation_id, kind, happened_at, received_at,
     project, cwd, messages, tools, metadata)
  select %(scope_id)s, %(tenant_id)s::bigint,
         %(next_event)s::bigint + row_number() over (order by given.place) - 1,
         given.runtime, given.session, given.turn, given.name, given.conversation_id, given.kind, given.happened_at,
         %(received_at)s::timestamptz, given.project, given.cwd, given.messages, given.tools, given.metadata
    from given
  returning event_no
)
select given.place from given cross join counted where (select count(*) from added) >= 0 order by given.place;
