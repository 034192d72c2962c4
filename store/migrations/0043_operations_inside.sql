-- The operations inside a call that asked no model stand in the row of the call. A row of its own for each, with its
-- entries in indexes, took more than half of what a call leaves in the log. Requests to models stay rows of their own,
-- since their prompts are looked for by their digests. So do the operations that older versions logged.
alter table operation
  add column inside jsonb,
  add column inside_sha256 bytea;
