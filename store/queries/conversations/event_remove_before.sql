-- Remove the events of all scopes that came before a time. No rows.
delete from event
 where received_at < %(before)s::timestamptz;
