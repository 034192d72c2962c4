-- The whole schema as it stands after all migrations, to be read: migrations make it, and a test builds a
-- database from each and compares them. The roles and what they may do are in roles.sql.
--
-- Every table carries tenant_id; where it holds files or their traces its key begins with scope_id. Whole tenants can
-- live on several plain servers, and large tables can have partitions by scope_id; Citus cannot run this schema, since
-- row-level security goes by settings and functions that its workers do not have (docs/scale.md). Text keys compare
-- byte for byte (collate "C").

-- Which migrations ran, and with what text.
create table schema_migration (
  version     integer primary key,
  name        text not null,
  sha256      bytea not null,
  applied_at  timestamptz not null default clock_timestamp()
);

create table tenant (
  tenant_id   bigint generated always as identity primary key,
  name        text collate "C" not null unique check (char_length(name) between 1 and 200),
  created_at  timestamptz not null default clock_timestamp(),
  expires_at  timestamptz,                              -- of one that is thrown away
  -- Changes in the transaction that changes what a key, a member or a project opens. It grows, and no value comes
  -- twice, not even after an older state of the database was restored: it is a time in microseconds.
  access_epoch bigint not null default (extract(epoch from clock_timestamp()) * 1000000)::bigint,
  -- What is done about a secret in a text to remember, and in a file; null for what the settings of the service say.
  secrets_remember text check (secrets_remember in ('redact', 'flag', 'refuse', 'off')),
  secrets_files    text check (secrets_files in ('redact', 'flag', 'refuse', 'off'))
);

create table api_key (
  tenant_id   bigint not null references tenant,
  key_id      bigint generated always as identity primary key,
  key_sha256  bytea not null unique check (octet_length(key_sha256) = 32),
  role        text not null check (role in ('agent', 'admin')),
  user_id     text collate "C",                       -- bound to this user; null: names the user with each call
  label       text,
  created_at  timestamptz not null default clock_timestamp(),
  revoked_at  timestamptz
);
create index api_key_tenant on api_key (tenant_id, key_id);

-- Where files live: one user's, the tenant's shared ones, a project's. `admin` holds only the admins' log, and `visitor`
-- only the log of calls for users who never wrote: what such a user reads of its own is this scope, which stays empty.
-- `conversations` holds no files, but what a user has imported of conversations. `documents` and `project_documents` hold
-- what stands in folders of a user or a project.
create table scope (
  scope_id    bigint generated always as identity primary key,
  tenant_id   bigint not null references tenant,
  kind        text not null check (kind in ('user', 'shared', 'project', 'admin', 'visitor', 'conversations',
                                            'documents', 'project_documents')),
  key         text collate "C" not null,              -- the user id, the project's slug, or ''
  rev         bigint not null default 0,              -- counts the committed changes
  last_at     timestamptz not null default '-infinity', -- created_at of the newest revision
  language    text not null default 'english',
  analyzer    text,                                   -- what made the index; null before the first write
  rebuilds    integer not null default 0,             -- of the index
  created_at  timestamptz not null default clock_timestamp(),
  closed_at   timestamptz,                            -- a closed project: nobody can name it, nothing is lost
  standing_bytes  bigint not null default 0,          -- of the texts of all files but entries, in UTF-8
  revisions       bigint not null default 0,          -- that are stored, history included
  stored_bytes    bigint not null default 0,          -- of their texts
  counted_rev     bigint not null default 0,          -- the rev for which the counts are right
  journal_bytes   bigint not null default 0,          -- of the texts of all entries of the journal
  unique (tenant_id, kind, key)
) with (fillfactor = 50);

create table project_member (
  tenant_id   bigint not null,
  scope_id    bigint not null references scope,
  user_id     text collate "C" not null,
  added_at    timestamptz not null default clock_timestamp(),
  primary key (scope_id, user_id)
);
create index project_member_user on project_member (tenant_id, user_id);

-- A full snapshot per write. A file is its open revision (rev_end is null): there is no second copy.
create table revision (
  scope_id      bigint not null,
  tenant_id     bigint not null,
  file_id       bigint not null,
  version       integer not null check (version >= 1),  -- of the path: path@version names one text for ever
  rev           bigint not null,                        -- the scope's change that opened it
  rev_end       bigint check (rev_end > rev),           -- the change that closed it
  path          text collate "C" not null,              -- relative to the scope's mount
  content       text not null,
  sha256        bytea not null check (octet_length(sha256) = 32),
  operation     text not null
                check (operation in ('create', 'write', 'patch', 'move', 'delete', 'restore', 'revert')),
  deleted       boolean not null default false check (not deleted or content = ''),
  counterpart   text,                                   -- the other end of a move, such as user/old.md@3
  reason        text,
  actor         text,
  channel       text not null check (channel in ('user', 'agent', 'import', 'dream', 'admin')),
  tool_call_id  text collate "C" not null,
  created_at    timestamptz not null,
  -- Derived from path and content, for lists and link resolution.
  title         text not null,
  tags          text[] not null,
  tag_keys      text[] collate "C" not null,            -- the tags without case
  size_chars    integer not null,
  path_key      text collate "C" not null,
  name_key      text collate "C" not null,
  pinned        boolean not null default false,         -- goes first into every context
  dated         date,                                   -- the day that the file is of, where it says one
  -- Of a journal entry, which is a text as it was told; null for every other file.
  origin        text check (origin in ('user', 'assistant', 'tool', 'web', 'document', 'import', 'operator', 'model')),
  said_at       timestamptz,                            -- when it was said
  about         text collate "C",                       -- the project that it was told about, by its slug
  erased        boolean not null default false,         -- words of it were erased, in place
  valid         daterange,                              -- the days on which it holds, where a caller or the file says so
  thinned       bigint[],                               -- the text is gone: the change of a later version of its day, and how much of its beginning and end is the same
  primary key (scope_id, path, version)
);
create unique index revision_file_rev on revision (scope_id, file_id, rev desc) include (rev_end, deleted);
create unique index revision_open on revision (scope_id, file_id) where rev_end is null;
create unique index revision_head on revision (scope_id, path) where rev_end is null and not deleted;
create index revision_valid on revision (scope_id) where valid is not null;
create index revision_page on revision (scope_id, path) where rev_end is null and not deleted and origin is null;
create index revision_path_key on revision (scope_id, path_key) where rev_end is null and not deleted;
create index revision_name_key on revision (scope_id, name_key) where rev_end is null and not deleted;
create index revision_rev on revision (scope_id, rev);
create index revision_told on revision (scope_id, sha256) where origin is not null and not deleted;
create index revision_pinned on revision (scope_id, path) where rev_end is null and not deleted and pinned;

-- A text that was told again makes no second entry of the journal, and is counted here.
create table told_again (
  scope_id      bigint not null,
  tenant_id     bigint not null,
  path          text collate "C" not null,              -- of the entry, relative to the user's mount
  said_at       timestamptz not null,
  tool_call_id  text collate "C" not null,
  taken_back_in text collate "C",                       -- the call that took it back; it does not count while there is one
  primary key (scope_id, path, tool_call_id)
);

-- Which words of the journal a statement of a page was made from, and whether the page still holds it. A row holds from
-- the change `rev` of the page's scope to `rev_end`, as a revision does: the next row says what became of it.
create table statement (
  scope_id      bigint not null,                        -- of the page
  tenant_id     bigint not null,
  file_id       bigint not null,                        -- the page
  line_key      bytea not null check (octet_length(line_key) = 16), -- of the words of its line
  entry_scope   bigint,                                 -- of the journal; null where no entry holds the words
  entry_path    text collate "C" not null default '',
  start_char    integer not null default 0,             -- where the words stand in the entry
  end_char      integer not null default 0,
  state         text not null
                constraint statement_known_state check (state in ('in_force', 'replaced', 'closed', 'forgotten', 'removed', 'put_back')),
  rev           bigint not null,
  rev_end       bigint,
  held_in       text,                                   -- path@version:start-end of the line, where the page held it last
  newer         text,                                   -- the statement that took its place
  tool_call_id  text collate "C" not null,
  changed_at    timestamptz not null default clock_timestamp(),
  said_on       date,                                   -- the day on which it was said, last
  accepted_at   timestamptz,                            -- when the call that said so was accepted
  primary key (scope_id, file_id, line_key, entry_path, start_char, rev)
);
create index statement_line on statement (scope_id, line_key);
create index statement_entry on statement (entry_scope, entry_path) where entry_scope is not null;
create index statement_gone on statement (scope_id, changed_at)
  where rev_end is null and state in ('replaced', 'closed', 'forgotten', 'removed');
create index statement_accepted on statement (scope_id, accepted_at)
  where rev_end is null and state in ('in_force', 'put_back');

-- Which newer statement contradicts an older one, where both stay: contexts show the older one as earlier, behind the newer
-- one. Each is a line of a page, or words of an entry of the journal. A row holds from the change `rev` of its scope to
-- `rev_end`, as a revision does; the next row says whether the pair is settled.
create table rival (
  scope_id      bigint not null,                        -- of both, where others share it; else of the teller
  tenant_id     bigint not null,
  older_scope   bigint not null,
  older_path    text collate "C" not null,              -- of the page or the entry
  older_key     bytea not null check (octet_length(older_key) = 16), -- of its words; see `statement`
  older_start   integer not null,                       -- where words of an entry stand; 0 for a line of a page
  older_end     integer not null,
  newer_scope   bigint not null,
  newer_path    text collate "C" not null,
  newer_key     bytea not null check (octet_length(newer_key) = 16),
  newer_start   integer not null,
  newer_end     integer not null,
  is_settled    boolean not null,                       -- both hold, or the call that named the pair is reverted
  rev           bigint not null,
  rev_end       bigint,
  tool_call_id  text collate "C" not null,
  primary key (scope_id, older_path, older_key, newer_path, newer_key, older_scope, newer_scope, rev)
);
create index rival_older on rival (older_scope, older_path);
create index rival_words on rival (older_scope, older_key);
create index rival_newer on rival (newer_scope, newer_path);

-- What was forgotten or replaced, by salted digests alone: texts that were said before it do not bring it back. A row holds
-- from the change `rev` of its scope to `rev_end`, as a revision does: until it is said anew, or what took it out is undone.
create table tombstone (
  scope_id      bigint not null,                        -- of the page or the entry that said it
  tenant_id     bigint not null,
  line_key      bytea not null check (octet_length(line_key) = 16), -- of the words of the statement; see `statement`
  strength      text not null check (strength in ('replaced', 'forgotten')),
  salt          bytea not null check (octet_length(salt) = 16), -- one for all rows of a scope, and one for each erasure
  value_digests bytea[] not null,                       -- of its names, numbers and identifiers: a text that says it has all
  value_sizes   smallint[] not null,                    -- their lengths in characters
  word_digests  bytea[] not null,                       -- of its other words, as search has them: they tell the property
  ended_at      timestamptz not null,                   -- what was said later is said anew
  rev           bigint not null,
  rev_end       bigint,
  tool_call_id  text collate "C" not null,
  lifted_in     text collate "C",                       -- the call that let it come back
  primary key (scope_id, line_key, rev)
);
create index tombstone_standing on tombstone (scope_id) where rev_end is null;

-- Proposals to tidy a mount: edits with what they rest on, which a person or a rule of a person's decides about. All of it can
-- be made anew from the files, so an erasure of words removes the proposals of the scopes that it changes.
create table dream (
  scope_id     bigint primary key,                      -- the mount
  tenant_id    bigint not null,
  mode         text not null default 'off' check (mode in ('off', 'propose', 'auto')),
  auto_kinds   text[] not null default '{}',            -- of edits that `auto` applies by itself
  paused_until timestamptz,
  seen_rev     bigint not null default 0,               -- the last change of the scope that a dream has seen
  dreamt_at    timestamptz,                             -- when the last dream of the job began
  lease        text collate "C",                        -- who dreams now
  lease_until  timestamptz
);
create index dream_awake on dream (scope_id) where mode <> 'off';

create table proposal (
  scope_id     bigint not null,
  tenant_id    bigint not null,
  proposal_id  text collate "C" not null,               -- also the id of the call that made it
  made_at      timestamptz not null,
  rev          bigint not null,                         -- the state of the mount in which it was made
  planner      text not null,
  is_expired   boolean not null default false,
  counts       jsonb not null,                          -- of signals, by their kind
  listed       jsonb not null,                          -- what is only listed, with both places
  gate         jsonb,                                   -- what asking before and after showed; null: nothing was asked
  primary key (scope_id, proposal_id)
);

create table proposal_edit (
  scope_id     bigint not null,
  tenant_id    bigint not null,
  proposal_id  text collate "C" not null,
  number       integer not null,
  part         integer not null,                        -- the group: its edits are applied together or not at all
  kind         text not null,
  path         text not null,                           -- virtual
  base_version integer,                                 -- null: there was no such file
  change       jsonb not null,                          -- lines with what takes their place
  removed      text[] not null default '{}',            -- statements, as path@version:start-end
  kept         text[] not null default '{}',            -- what says the same and stays
  why          text not null,
  state        text not null default 'open'
               check (state in ('open', 'held', 'applied', 'rejected', 'reverted', 'outdated')),
  tool_call_id text collate "C",                        -- the call that applied it
  decided_at   timestamptz,
  primary key (scope_id, proposal_id, number)
);
create index proposal_edit_call on proposal_edit (scope_id, tool_call_id) where tool_call_id is not null;

-- Forward links of the heads; by target_key the backlinks. A link whose target may be either side of a bar
-- has a row for each side, in the order in which they are tried.
create table link (
  scope_id        bigint not null,
  tenant_id       bigint not null,
  source_file_id  bigint not null,
  ordinal         integer not null,
  side            smallint not null,
  target_key      text collate "C" not null,
  raw             text not null,
  anchor          text,
  primary key (scope_id, source_file_id, ordinal, side)
);
create index link_target on link (scope_id, target_key);

-- The unit of search. lexemes and tfs run in parallel; length is the sum of tfs. Chunks of messages that are merged have
-- none, as they are many: their texts say them again.
create table chunk (
  scope_id      bigint not null,
  tenant_id     bigint not null,
  chunk_id      integer not null,                       -- only grows within a scope
  file_id       bigint not null,
  start_char    integer not null,
  end_char      integer not null,
  heading_path  text[] not null,
  sha256        bytea not null,                         -- of the indexed text: unchanged text keeps its postings
  lexemes       text[] collate "C" not null,
  tfs           smallint[] not null,
  length        integer not null,
  primary key (scope_id, chunk_id)
);
create index chunk_file on chunk (scope_id, file_id, start_char);

-- Chunks that were taken away and still stand in the postings.
create table chunk_removed (
  scope_id   bigint not null,
  tenant_id  bigint not null,
  chunk_id   integer not null,
  lexemes    text[] collate "C" not null,
  tfs        smallint[] not null,
  length     integer not null,
  primary key (scope_id, chunk_id)
);

-- The packed inverted index: up to 240 entries a row, chunk_id << 32 | length << 16 | tf, ascending.
create table posting (
  scope_id   bigint not null,
  tenant_id  bigint not null,
  lexeme     text collate "C" not null,
  segment    integer not null,                          -- the first chunk_id that the row was opened with
  n          integer not null check (n between 1 and 256),
  entries    bigint[] not null,
  primary key (scope_id, lexeme, segment)
) with (fillfactor = 80);
-- Plain: a full row is just below the size at which Postgres would move its entries out of the row.
alter table posting alter column entries set storage plain;

-- One row a scope: the totals of BM25, the counters, and the lock that every writer of the scope takes.
create table scope_stat (
  scope_id         bigint primary key,
  tenant_id        bigint not null,
  n                integer not null default 0,          -- chunks
  total_length     bigint not null default 0,           -- lexemes in them
  files            integer not null default 0,
  next_file_id     bigint not null default 1,
  next_chunk_id    integer not null default 1,
  merged_chunk_id  integer not null default 0,          -- the last that is in the postings; those above are pending
  unmerged         integer not null default 0,          -- chunks added or removed since
  has_series       boolean not null default false       -- short files stand, or stood, in a numbered series
) with (fillfactor = 50);

-- Every tool call, inner tool call and model request. Texts that a revision holds are references.
create table operation (
  scope_id        bigint not null,                      -- the caller's user scope, or that of visitors; for admins theirs
  tenant_id       bigint not null,
  operation_id    bigint generated always as identity,
  tool_call_id    text collate "C" not null,
  user_id         text collate "C" not null default '',
  attempt         integer not null default 1,
  parent_id       bigint,                               -- an inner call's tool call
  ordinal         integer not null default 0,
  kind            text not null,                        -- the tool, or model_request
  status          text not null check (status in
                  ('queued', 'quarantined', 'running', 'committed', 'answered', 'repeated', 'dry_run', 'failed',
                   'denied')),
  principal       jsonb not null,
  request         jsonb not null,
  request_sha256  bytea not null,
  response        jsonb,
  result_sha256   bytea,
  state           jsonb,                                -- mount -> rev that the call saw
  engine          text not null,
  config          jsonb,
  now             timestamptz not null,
  prompt_sha256   bytea,
  model           text,
  usage           jsonb,
  error_code      text,
  lease_until     timestamptz,                          -- while running, and while a worker has it
  tries           smallint not null default 0,          -- how often a worker began with it
  started_at      timestamptz not null,
  duration_ms     double precision not null,
  saw             text[] collate "C" not null default '{}',  -- the revisions that the call saw, as path@version
  kept            boolean not null default false,       -- retention leaves it
  inside          jsonb,                                -- operations inside a call; requests to models are rows
  inside_sha256   bytea,                                -- their digests one after the other, 32 bytes each
  primary key (scope_id, operation_id)
);
-- A tool call id is spent by its first commit, and held while it runs or is in the queue.
create unique index operation_once on operation (scope_id, user_id, tool_call_id)
  where parent_id is null and status in ('queued', 'quarantined', 'running', 'committed');
create index operation_call on operation (scope_id, tool_call_id, operation_id);
create index operation_top on operation (scope_id, operation_id) where parent_id is null;
create index operation_user on operation (scope_id, user_id, operation_id) where parent_id is null;
create index operation_newest on operation (tenant_id, started_at) where parent_id is null;
create index operation_inner on operation (scope_id, parent_id, ordinal) where parent_id is not null;
create index operation_queued on operation (tenant_id, operation_id)
  where parent_id is null and status in ('queued', 'quarantined');
create index operation_prompt on operation (tenant_id, prompt_sha256) where prompt_sha256 is not null;

create table prompt (
  tenant_id  bigint not null references tenant,
  sha256     bytea not null,
  text       text not null,
  primary key (tenant_id, sha256)
);

-- What a tenant's calls cost on a day (UTC), by model.
create table spend (
  tenant_id      bigint not null references tenant,
  day            date not null,
  model          text not null,
  requests       bigint not null default 0,
  input_tokens   bigint not null default 0,
  output_tokens  bigint not null default 0,
  usd            numeric(18, 9) not null default 0,
  primary key (tenant_id, day, model)
);

-- Runs of evals, whole.
create table eval_run (
  tenant_id   bigint not null references tenant,
  run_id      text collate "C" not null,
  suite       text not null,
  started_at  timestamptz not null,
  document    jsonb not null,
  primary key (tenant_id, run_id)
);

-- How much may be stored. For a user or a project without a row of its own, and for a limit that its row leaves open,
-- the row with the key '' holds.
create table quota (
  tenant_id     bigint not null references tenant,
  kind          text not null check (kind in ('tenant', 'user', 'project')),
  key           text collate "C" not null,              -- the user id or the project's slug
  files         bigint check (files >= 0),              -- null for no limit
  bytes         bigint check (bytes >= 0),              -- of the files as they stand
  revisions     bigint check (revisions >= 0),          -- of the whole history
  stored_bytes  bigint check (stored_bytes >= 0),       -- of the whole history
  primary key (tenant_id, kind, key)
);

-- Writes that are limited over all replicas: when each bucket of a tenant is full again.
create table write_rate (
  tenant_id   bigint not null references tenant on delete cascade,
  name        text collate "C" not null,                -- of the limit, such as writes-user
  holder      text collate "C" not null,                -- the user id, the number of the key, or empty for the tenant
  full_at     timestamptz not null,
  primary key (tenant_id, name, holder)
) with (fillfactor = 50);

-- Conversations: what was said elsewhere, imported as evidence. They stand beside the files of memory, in a scope of
-- their own for each user, so that no conversation changes what a word is worth among files.

-- What a scope of conversations holds, and the salt of the digests by which removed conversations are known again.
create table conversation_stat (
  scope_id       bigint primary key,
  tenant_id      bigint not null,
  salt           bytea not null default decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex'),
  conversations  bigint not null default 0,
  messages       bigint not null default 0,
  text_bytes     bigint not null default 0,             -- of the texts of all messages, in UTF-8
  next_id        bigint not null default 1,             -- of sources and conversations
  next_event     bigint not null default 1
) with (fillfactor = 50);

-- Where conversations came from: an account with a provider, as its export names it, or a folder of transcripts.
create table source (
  scope_id        bigint not null,
  tenant_id       bigint not null,
  source_id       bigint not null,
  kind            text collate "C" not null,            -- the reader, such as chatgpt
  label           text collate "C" not null,            -- the name that people give it
  account         text collate "C" not null default '', -- as the export names it
  reader_version  integer not null,                     -- of the newest import
  imported_at     timestamptz not null,                 -- the newest import
  skipped         jsonb not null default '{}',          -- what the newest import left out: how often by reason
  primary key (scope_id, source_id),
  unique (scope_id, kind, label, account)
);

create table conversation (
  scope_id         bigint not null,
  tenant_id        bigint not null,
  conversation_no  bigint not null,
  conversation_id  text collate "C" not null check (conversation_id ~ '^[0-9a-z]{12}$'),
  source_id        bigint not null,
  provider_id      text collate "C" not null,           -- the provider's id
  title            text not null,
  project          text collate "C" not null default '', -- a label of the provider's, no project of Memex
  started_at       timestamptz,
  last_at          timestamptz,
  is_complete      boolean not null,                    -- false until all of it has been read
  next_number      integer not null default 1,          -- of the next message
  next_position    integer not null default 1,
  sha256           bytea not null check (octet_length(sha256) = 32), -- of what was read, to know it again
  reader_version   integer not null,
  imported_at      timestamptz not null,
  former_titles    text[] not null default '{}',        -- the last of them, under which older chunks were indexed
  -- Between these lie the ids of all chunks, and the times of all messages that say one; null without any.
  first_chunk_id   integer,
  last_chunk_id    integer,
  first_said_at    timestamptz,
  last_said_at     timestamptz,
  folder           text collate "C" not null default '', -- in which the session took place, as the transcript names it
  branch           text collate "C" not null default '',
  primary key (scope_id, conversation_no)
);
create unique index conversation_named on conversation (scope_id, conversation_id);
create index conversation_newest on conversation (scope_id, last_at desc nulls last, conversation_no desc);
create index conversation_source on conversation (scope_id, source_id);
create index conversation_said on conversation (scope_id, last_said_at)
  include (tenant_id, first_said_at, first_chunk_id, last_chunk_id);

-- What was said. A text never changes: another text is another message, and the older one leaves the path.
create table message (
  scope_id         bigint not null,
  tenant_id        bigint not null,
  message_id       bigint not null,                     -- the chunks of the message have it as their file_id
  conversation_no  bigint not null,
  number           integer not null,                    -- given once: conversation#number names one text for ever
  position         integer not null,                    -- the order in which the conversation is read
  parent           integer,                             -- the number of the message that it answers
  role             text not null
                   check (role in ('user', 'assistant', 'system', 'tool', 'reasoning', 'summary')),
  part             text not null,
  author           text,
  text             text not null check (text <> ''),
  sha256           bytea not null check (octet_length(sha256) = 32),
  said_at          timestamptz,
  model            text,
  human_authored   boolean not null,
  on_path          boolean not null,                    -- false on a branch that was given up
  origin           text not null,                       -- file of the export, and place in it
  provider_id      text collate "C" not null,           -- the provider's id, or the place in the file
  primary key (scope_id, message_id)
);
create unique index message_number on message (scope_id, conversation_no, number);
create index message_position on message (scope_id, conversation_no, position);

-- Conversations that a person removed, or that grew too old: their digests, so that the next export does not bring them
-- back.
create table conversation_removed (
  scope_id    bigint not null,
  tenant_id   bigint not null,
  sha256      bytea not null check (octet_length(sha256) = 32), -- of salt, source and provider's id
  removed_at  timestamptz not null,
  kind        text not null default '', -- the format
  primary key (scope_id, sha256)
);

-- Files of exports that were read to their end: digests of content and reader, so that an unchanged file is not read
-- again.
create table conversation_file (
  scope_id   bigint not null,
  tenant_id  bigint not null,
  sha256     bytea not null check (octet_length(sha256) = 32),
  read_at    timestamptz not null,
  -- Where the reader of a file that only grows has stopped, so that it reads on from there. A lineage is a digest of how
  -- the file begins, which stays the same while it grows: of each there is one row.
  lineage    bytea check (octet_length(lineage) = 32),
  bookmark   jsonb,
  primary key (scope_id, sha256)
);
create unique index conversation_file_lineage on conversation_file (scope_id, lineage);

-- What coding agents report while they work: prompts, ends of turns, commands. A captured session is a conversation; an
-- event says when something happened in it, and holds its words only as long as the transcript does not.
create table event (
  scope_id         bigint not null,
  tenant_id        bigint not null,
  event_no         bigint not null,                     -- the order of arrival; within a session the order of events
  runtime          text collate "C" not null,           -- the reader of the program's transcripts, such as claude_code
  session          text collate "C" not null,           -- the provider's id of the conversation
  turn             text collate "C" not null default '',
  name             text collate "C" not null,           -- names the event within its turn
  conversation_id  text collate "C" not null,           -- of the session, whether or not its transcript was read
  kind             text not null,                       -- session_start, prompt, stop, compact, session_end, tool, …
  happened_at      timestamptz not null,
  received_at      timestamptz not null,
  project          text not null default '',            -- a label
  cwd              text not null default '',
  messages         jsonb,                               -- [{role, text}] that stand in until the transcript has them
  tools            jsonb,                               -- [{name, command, ok, paths, duration_ms}]
  metadata         jsonb not null default '{}',         -- texts by name, such as branch, remote, source
  primary key (scope_id, event_no)
);
create unique index event_once on event (scope_id, runtime, session, turn, name);
create index event_of_conversation on event (scope_id, conversation_id, event_no);
create index event_of_runtime on event (scope_id, runtime, received_at);
create index event_place on event (scope_id, conversation_id, event_no desc) where metadata ? 'label' and kind <> 'tool';
create index event_label on event (scope_id, (metadata ->> 'label'))
  where metadata ? 'label' and kind <> 'tool';

-- Exports that people upload on a page, while they are read and afterwards: how far each is, for all workers of a
-- service. Nothing of the file itself is kept here.
create table conversation_import (
  scope_id    bigint not null,
  tenant_id   bigint not null,
  import_id   text collate "C" not null check (import_id ~ '^[0-9a-z_]{4,40}$'),
  name        text not null,                       -- of the file, as the browser gave it
  is_dry_run  boolean not null,
  state       text not null default 'receiving'
              check (state in ('receiving', 'waiting', 'reading', 'done', 'stopped', 'cancelled', 'cut_off')),
  size_bytes  bigint not null default 0,           -- that were received so far
  report      jsonb not null default '{}',         -- what became of what was read so far
  error       jsonb,                               -- why it stopped: code, message and hint
  wants_end   boolean not null default false,      -- the person cancelled it
  started_at  timestamptz not null default now(),
  heard_at    timestamptz not null default now(),  -- when the process that reads it was last heard of
  ended_at    timestamptz,
  primary key (scope_id, import_id)
);
-- A user has one import under way.
create unique index conversation_import_open on conversation_import (scope_id) where ended_at is null;

-- Where work stands, as it is derived from conversations. An observation holds no words: it says what a span of a
-- message is, and is made anew from the message at any time. All of it stands in the user's scope of conversations.
create table observation (
  scope_id         bigint not null,
  tenant_id        bigint not null,
  conversation_no  bigint not null,
  number           integer not null,                    -- of the message
  place            integer not null,                    -- its place among the observations of the message, from 0
  kind             text collate "C" not null,           -- objective, decision, pending, done, blocker, …
  start_char       integer not null,
  end_char         integer not null check (end_char > start_char),
  by_human         boolean not null,                    -- false: an agent said it, maybe from a page that it has read
  is_firm          boolean not null,                    -- a label says the kind, and not a pattern
  confidence       real not null,
  by_model         boolean not null default false,      -- a chat model named the span, and not the rules
  primary key (scope_id, conversation_no, number, place)
);

-- How far a conversation has been read for observations, and by which version of the rules.
create table work_derived (
  scope_id         bigint not null,
  tenant_id        bigint not null,
  conversation_no  bigint not null,
  derived_to       integer not null,                    -- the number of the last message that was read
  deriver_version  integer not null,
  sha256           bytea not null,                      -- of the conversation as it was then
  reader           text not null default '',            -- whose answers the observations hold, if a chat model's
  primary key (scope_id, conversation_no)
);

-- What a chat model answered about messages that were read for work: the kinds of spans, and no words. An answer is known
-- by the digest of the reader, the author and the text, so that no text is shown to the model twice.
create table work_answer (
  scope_id         bigint not null,
  tenant_id        bigint not null,
  conversation_no  bigint not null,
  number           integer not null,                    -- of the message
  reader           text not null,                       -- the version of the prompt, and the model
  sha256           bytea not null check (octet_length(sha256) = 32), -- of reader, author and text
  spans            jsonb,                               -- [kind, start, end] of each; null: no answer that can be used
  tries            integer not null,                    -- how often the model gave no answer that can be used
  answered_at      timestamptz not null,
  is_derived       boolean not null,                    -- the observations of the conversation hold what it says
  primary key (scope_id, conversation_no, number, reader)
);
create index work_answer_known on work_answer (scope_id, sha256);
create index work_answer_new on work_answer (scope_id, conversation_no) where not is_derived;

-- What a person decided by hand about an item of work, which its id names.
create table work_mark (
  scope_id         bigint not null,
  tenant_id        bigint not null,
  item_id          text collate "C" not null check (item_id ~ '^[0-9a-z]{10}$'),
  marked_at        timestamptz not null,
  action           text not null
                   check (action in ('done', 'drop', 'keep', 'pin', 'unpin', 'archive', 'restore', 'leave_out', 'bring_in', 'end')),
  tool_call_id     text not null,
  conversation_id  text collate "C",                    -- that the item comes from; null: from memory
  ends_on          date,                                -- of `end`: the last day; null: it does not end
  primary key (scope_id, item_id, marked_at)
);

-- Which message of a conversation a statement was taken from. The link in the text of the file proves nothing, since
-- anybody can type it; only what stands here counts.
create table citation (
  scope_id          bigint not null,                    -- of the file in which the statement stands
  tenant_id         bigint not null,
  user_id           text collate "C" not null,          -- whose conversation it is
  conversation_id   text collate "C" not null check (conversation_id ~ '^[0-9a-z]{12}$'),
  number            integer not null,                   -- of the message, when the statement was taken
  statement_sha256  bytea not null check (octet_length(statement_sha256) = 32), -- of the statement in normal form
  message_sha256    bytea not null check (octet_length(message_sha256) = 32),   -- of the text of the message
  start_char        integer not null,                   -- where in the message the statement stands
  end_char          integer not null,
  said_at           timestamptz,
  revision          text not null,                      -- path@version that held the citation first
  tool_call_id      text not null,
  cited_at          timestamptz not null,
  primary key (scope_id, conversation_id, number, statement_sha256, user_id)
);

-- How far a user's conversations have been distilled; the scope is that of the user's files.
create table distilled (
  scope_id         bigint not null,
  tenant_id        bigint not null,
  conversation_id  text collate "C" not null check (conversation_id ~ '^[0-9a-z]{12}$'),
  until_number     integer not null,                    -- of the last message that was read
  planner          text not null,
  tool_call_id     text not null,
  distilled_at     timestamptz not null,
  primary key (scope_id, conversation_id)
);

-- Which project of Memex the sessions of a label belong to, as a person said. A label is what identifies the place of a
-- session: a git remote, or a folder of a machine.
create table work_link (
  scope_id   bigint not null,
  tenant_id  bigint not null,
  label      text collate "C" not null check (length(label) between 1 and 1000),
  slug       text collate "C" not null,
  linked_at  timestamptz not null,
  primary key (scope_id, label)
);

-- Which projects a project reads from: what holds there is told beside its own work, to members of both alone.
create table project_reading (
  scope_id       bigint not null,                       -- of the project that reads
  tenant_id      bigint not null,
  read_scope_id  bigint not null check (read_scope_id <> scope_id),
  added_at       timestamptz not null,
  primary key (scope_id, read_scope_id)
);

-- Documents: files of a client's folder, mirrored as they stand.

-- What a scope of documents holds.
create table document_stat (
  scope_id      bigint primary key,
  tenant_id     bigint not null,
  documents     bigint not null default 0,
  text_bytes    bigint not null default 0,              -- of the texts, in UTF-8
  next_root     integer not null default 1,
  next_version  integer not null default 1,             -- of the next change: with a path, it names one text for ever
  wanted_at     timestamptz                             -- when somebody last asked the watching clients for a sync
) with (fillfactor = 50);

-- A folder of a client, by a name: nothing says where it lies on the client's machine.
create table document_root (
  scope_id      bigint not null,
  tenant_id     bigint not null,
  root_no       integer not null,
  name          text collate "C" not null check (name ~ '^[a-z0-9][a-z0-9._-]{0,62}$'),
  owner         text collate "C" not null,              -- the user who pushes it; '': an admin, or a user who was erased
  state         text not null default 'syncing' check (state in ('syncing', 'complete', 'removing')),
  sync          integer not null default 0,             -- the number of the newest sync
  client        text not null default '',               -- that runs it, as it names itself
  began_at      timestamptz,                            -- when the newest sync began, and was last heard of
  heard_at      timestamptz,
  completed_at  timestamptz,                            -- when a sync last came to its end
  documents     integer not null default 0,
  text_bytes    bigint not null default 0,
  passages      integer not null default 0,
  patterns      text[] not null default '{}',
  left_out      jsonb not null default '{}',            -- how many files by reason, as the client reports
  examples      jsonb not null default '[]',            -- some of them, with the reason
  watched_until timestamptz,                            -- a client watches the folder, and says so again before
  primary key (scope_id, root_no),
  unique (scope_id, name)
) with (fillfactor = 50);

create table document (
  scope_id     bigint not null,
  tenant_id    bigint not null,
  document_id  bigint not null,                         -- the chunks of the document have it as their file_id
  root_no      integer not null,
  owner        text collate "C" not null,               -- of the root
  path         text collate "C" not null,               -- relative to the root
  version      integer not null,
  sha256       bytea not null check (octet_length(sha256) = 32), -- of the text in UTF-8
  kind         text not null check (kind in ('markdown', 'text', 'json', 'yaml', 'toml', 'code')),
  title        text not null,
  tags         text[] not null,                         -- of the text and of the client
  tag_keys     text[] collate "C" not null,             -- the tags without case
  given_tags   text[] not null,                         -- those of the client
  text         text not null,
  size_bytes   integer not null,
  passages     integer not null,
  changed_at   timestamptz,                             -- the time of the file, as the client says
  updated_at   timestamptz not null,                    -- when this text, or its path, came
  missed_by    integer,                                 -- the sync whose manifest lacks it
  primary key (scope_id, document_id)
);
create unique index document_path on document (scope_id, root_no, path);
create index document_text on document (scope_id, root_no, sha256);
create index document_missed on document (scope_id, root_no, document_id) where missed_by is not null;

-- What a model says of each word piece of a text, kept as signs: search compares a question with a text piece by piece.
-- The rows belong to texts, as vectors do, and need no extension. Rows are kept whole up to the size of a page.
create table token_state (
  scope_id     bigint not null,
  tenant_id    bigint not null,
  model        text collate "C" not null,               -- as embedding.model
  text_sha256  bytea not null check (octet_length(text_sha256) = 32), -- as chunk.sha256: of the indexed text
  dimensions   smallint not null check (dimensions > 0 and dimensions % 8 = 0),
  signs        bytea not null check (octet_length(signs) % (dimensions / 8) = 0), -- a bit a dimension, a row a word piece
  primary key (scope_id, model, text_sha256)
) with (toast_tuple_target = 8160);
alter table token_state alter column signs set storage external;

-- What a model says of each word piece of a statement that stands in a file of statements, embedded by itself: in a passage
-- of ten statements the others color each of them. A row belongs to the text of a passage, as `token_state` does, and is
-- found by the statement's own digest.
create table statement_state (
  scope_id          bigint not null,
  tenant_id         bigint not null,
  model             text collate "C" not null,               -- as embedding.model
  statement_sha256  bytea not null check (octet_length(statement_sha256) = 32), -- of its heading and its text
  text_sha256       bytea not null check (octet_length(text_sha256) = 32), -- as chunk.sha256: of the passage it stands in
  dimensions        smallint not null check (dimensions > 0 and dimensions % 8 = 0),
  signs             bytea not null check (octet_length(signs) % (dimensions / 8) = 0), -- a bit a dimension, a row a word piece
  primary key (scope_id, model, statement_sha256, text_sha256)
) with (toast_tuple_target = 8160);
alter table statement_state alter column signs set storage external;

-- How far the texts of a scope have token states of a model, where the server has no pgvector: where it has, vectors and
-- states are made together, and embedding_progress tells.
create table token_progress (
  scope_id   bigint not null,
  tenant_id  bigint not null,
  model      text collate "C" not null,
  rev        bigint not null,
  error      text,                                      -- what the last run failed with: a class, a status, a code
  at         timestamptz not null,
  primary key (scope_id, model)
);

-- The web UI: who is signed in, and the links by which the terminal of the service signs a browser in.
create table ui_session (
  session_id    bigint generated always as identity primary key,
  tenant_id     bigint not null references tenant on delete cascade,
  token_sha256  bytea not null unique check (octet_length(token_sha256) = 32),
  key_id        bigint references api_key on delete cascade,  -- that opened it; null: a link of the terminal did
  role          text not null check (role in ('agent', 'admin')),
  user_id       text collate "C",                     -- whose memory it shows; null: an admin's who named nobody
  created_at    timestamptz not null default clock_timestamp(),
  expires_at    timestamptz not null,
  used_at       timestamptz not null default clock_timestamp(),
  revoked_at    timestamptz
);
create index ui_session_tenant on ui_session (tenant_id, session_id);

create table ui_link (
  link_id       bigint generated always as identity primary key,
  tenant_id     bigint not null references tenant on delete cascade,
  token_sha256  bytea not null unique check (octet_length(token_sha256) = 32),
  user_id       text collate "C",
  created_at    timestamptz not null default clock_timestamp(),
  expires_at    timestamptz not null,
  spent_at      timestamptz
);

-- Who was erased, and how much with each: the receipt. The user is erased while `finished_at` is null, and meanwhile no
-- call is made for the user. Calls that began before `epoch`, the access epoch in which it began, end without a trace.
create table erasure (
  erasure_id   bigint generated always as identity primary key,
  tenant_id    bigint not null references tenant on delete cascade,
  user_id      text collate "C" not null,
  scope_ids    bigint[] not null,                     -- those of the user, which are gone
  key_id       bigint,                                -- by which the erasure was asked for; null: on the machine itself
  epoch        bigint,
  begun_at     timestamptz not null default clock_timestamp(),
  finished_at  timestamptz,
  counts       jsonb not null default '{}'
);
create unique index erasure_open on erasure (tenant_id, user_id) where finished_at is null;
create index erasure_tenant on erasure (tenant_id, erasure_id);

-- Which words were erased, told by salted digests, and how much with them: the receipt. Calls that began before `epoch`,
-- the access epoch that it raised last, end without a trace, since they may have read the words.
create table word_erasure (
  erasure_id   text collate "C" primary key check (erasure_id ~ '^[0-9a-f]{24}$'),
  tenant_id    bigint not null references tenant on delete cascade,
  user_id      text collate "C",                      -- whose memory; null: shared files and projects alone
  is_wide      boolean not null,                      -- whether shared files and projects are meant too
  token        text collate "C" not null unique,      -- of the preview that was confirmed
  entry        jsonb not null,                        -- as the ledger has it: the salt and the digests, and no word
  epoch        bigint,
  raised_at    timestamptz,
  scope_ids    bigint[] not null default '{}',        -- whose index is to be made anew
  touched      text[] not null default '{}',          -- shared versions that held the words, until the end
  counts       jsonb not null default '{}',
  begun_at     timestamptz not null default clock_timestamp(),
  finished_at  timestamptz
);
create index word_erasure_tenant on word_erasure (tenant_id, epoch);

-- The calls of each hour, summed from the log in the background: by tool and status, with a histogram of how long they
-- took. `buckets` and `counts` run in parallel; bucket n holds what took less than 2^(n/4) ms, and no less than the one
-- before it.
create table log_hour (
  tenant_id  bigint not null references tenant on delete cascade,
  hour       timestamptz not null,
  tool       text collate "C" not null,
  status     text not null,
  calls      bigint not null,
  buckets    smallint[] not null,
  counts     integer[] not null,
  primary key (tenant_id, hour, tool, status)
);

-- Where a readiness probe tries whether the database takes writes.
create table write_probe (
  probe_id  bigint generated always as identity primary key
);

-- The key of the seals, as HMAC-SHA256 takes it (RFC 2104): padded, and mixed with ipad and opad. One row, made by the
-- first service with a login for agents. Only the owner, and functions of the owner, can read it.
create table seal (
  is_only    boolean primary key default true check (is_only),
  inner_key  bytea not null check (octet_length(inner_key) = 64),
  outer_key  bytea not null check (octet_length(outer_key) = 64)
);

-- Row-level security. What a transaction may see is in its local settings:
--   memex.tenant      the tenant's id
--   memex.readable    the scopes that an agent may read, as an array literal
--   memex.writable    those it may write
--   memex.visitors    the scope of visitors, whose log shows an agent only the rows of
--   memex.user        the user of the call
--   memex.seal        a MAC of all of these by the service, where agents have a login of their own
--   memex.maintenance 'on' opens everything to the owner: migrations, keys, erasure, backup
-- The role says as what it acts. Where the login may not create roles it stays the owner, whom FORCE binds,
-- and memex.acting says it.

create function acting_as() returns text language sql stable parallel safe
return case current_user
         when 'memex_agent' then 'agent'
         when 'memex_admin' then 'admin'
         else case when current_setting('memex.maintenance', true) = 'on' then 'owner'
                   else coalesce(current_setting('memex.acting', true), '') end
       end;

-- Whether the settings that say who acts are those that the service has sealed.
create function is_sealed() returns boolean
language plpgsql stable security definer parallel safe
set search_path = public, pg_temp
as $$
declare
  key public.seal;
begin
  -- By its key: sequential scans are off, and a cost above all others would be compiled.
  select * into key from public.seal where is_only;
  return encode(sha256(key.outer_key || sha256(key.inner_key || convert_to(
           coalesce(current_setting('memex.tenant', true), '') || '|' ||
           coalesce(current_setting('memex.readable', true), '') || '|' ||
           coalesce(current_setting('memex.writable', true), '') || '|' ||
           coalesce(current_setting('memex.visitors', true), '') || '|' ||
           coalesce(current_setting('memex.user', true), ''), 'UTF8'))), 'hex') = current_setting('memex.seal', true);
end
$$;

-- The tenant, and with it all that policies compare besides. A login that may become an administrator could say
-- anything; the login for agents needs a seal. Every policy asks for the tenant, so a seal that does not fit shows no row.
create function acting_tenant() returns bigint language sql stable parallel safe
return case when current_user <> 'memex_agent' or pg_has_role(session_user, 'memex_admin', 'member') or is_sealed()
            then nullif(current_setting('memex.tenant', true), '')::bigint end;

create function readable_scopes() returns bigint[] language sql stable parallel safe
return coalesce(nullif(current_setting('memex.readable', true), ''), '{}')::bigint[];

create function writable_scopes() returns bigint[] language sql stable parallel safe
return coalesce(nullif(current_setting('memex.writable', true), ''), '{}')::bigint[];

create function acting_user() returns text language sql stable parallel safe
return coalesce(current_setting('memex.user', true), '');

create function visitors_scope() returns bigint language sql stable parallel safe
return nullif(current_setting('memex.visitors', true), '')::bigint;

-- One policy a command, so that a statement evaluates few conditions: the owner in maintenance sees all, an
-- admin its tenant's rows, an agent its scopes' rows of its tenant.
do $$
declare
  name text;
  is_owner text := $p$(select acting_as()) = 'owner'$p$;
  is_admin text := $p$tenant_id = (select acting_tenant()) and (select acting_as()) = 'admin'$p$;
  reads text := $p$tenant_id = (select acting_tenant())
    and (scope_id = any ((select readable_scopes())::bigint[]) or (select acting_as()) = 'admin')$p$;
  writes text := $p$tenant_id = (select acting_tenant())
    and (scope_id = any ((select writable_scopes())::bigint[]) or (select acting_as()) = 'admin')$p$;
  owns text := $p$tenant_id = (select acting_tenant())
    and (scope_id = any ((select writable_scopes())::bigint[]) and owner = (select acting_user())
         or (select acting_as()) = 'admin')$p$;
begin
  foreach name in array array[
    'tenant', 'api_key', 'scope', 'project_member', 'revision', 'link', 'chunk', 'chunk_removed', 'posting',
    'scope_stat', 'operation', 'prompt', 'spend', 'eval_run', 'quota', 'write_rate', 'write_probe', 'ui_session',
    'ui_link', 'erasure', 'word_erasure', 'log_hour', 'seal', 'schema_migration', 'conversation_stat', 'source', 'conversation',
    'message', 'conversation_removed', 'conversation_file', 'conversation_import', 'event', 'observation',
    'work_derived', 'work_answer', 'work_mark', 'citation', 'distilled',
    'work_link', 'project_reading', 'document_stat', 'document_root', 'document', 'token_state',
    'statement_state', 'token_progress', 'told_again', 'statement', 'rival', 'tombstone', 'dream', 'proposal',
    'proposal_edit'] loop
    execute format('alter table %I enable row level security', name);
    execute format('alter table %I force row level security', name);
  end loop;

  foreach name in array array[
    'scope', 'revision', 'told_again', 'statement', 'rival', 'tombstone', 'link', 'chunk', 'chunk_removed', 'posting',
    'scope_stat', 'dream', 'proposal', 'proposal_edit'] loop
    execute format('create policy reads on %I for select using (%s or %s)', name, reads, is_owner);
    execute format('create policy inserts on %I for insert with check (%s or %s)', name, writes, is_owner);
  end loop;
  -- Many users share the log of visitors.
  execute format(
    'create policy reads on operation for select using (%s and (scope_id is distinct from (select visitors_scope()) '
    'or user_id = (select acting_user()) or (select acting_as()) = ''admin'') or %s)', reads, is_owner);
  execute format(
    'create policy inserts on operation for insert with check (%s or %s or tenant_id = (select acting_tenant()) '
    'and scope_id = (select visitors_scope()) and user_id = (select acting_user()))', writes, is_owner);
  -- Revisions stay and the log only grows: but for the owner's retention and erasure nothing takes them away.
  foreach name in array array[
    'scope', 'told_again', 'statement', 'rival', 'tombstone', 'link', 'chunk', 'posting', 'scope_stat', 'dream',
    'proposal', 'proposal_edit'] loop
    execute format('create policy updates on %I for update using (%s or %s)', name, writes, is_owner);
  end loop;
  -- An open revision can be closed, once; nothing else of history can be changed.
  execute format(
    'create policy updates on revision for update using (%s and rev_end is null or %s) '
    'with check (%s and rev_end is not null or %s)', writes, is_owner, writes, is_owner);
  foreach name in array array[
    'told_again', 'statement', 'rival', 'tombstone', 'link', 'chunk', 'chunk_removed', 'posting', 'dream', 'proposal',
    'proposal_edit'] loop
    execute format('create policy deletes on %I for delete using (%s or %s)', name, writes, is_owner);
  end loop;
  foreach name in array array['scope', 'revision', 'scope_stat', 'operation'] loop
    execute format('create policy erases on %I for delete using (%s)', name, is_owner);
  end loop;
  execute format('create policy erases_from on operation for update using (%s)', is_owner);
  -- What becomes of a call that is in the queue is the one thing in the log that can be changed.
  execute format(
    'create policy settles on operation for update '
    'using (%s and parent_id is null and status in (''queued'', ''quarantined'')) '
    'with check (%s and parent_id is null and status in (''queued'', ''answered'', ''failed''))', writes, writes);

  foreach name in array array[
    'conversation_stat', 'source', 'conversation', 'message', 'conversation_removed', 'conversation_file',
    'conversation_import', 'event', 'observation', 'work_derived', 'work_answer', 'work_mark', 'citation', 'distilled',
    'work_link'] loop
    execute format('create policy reads on %I for select using (%s or %s)', name, reads, is_owner);
    execute format('create policy inserts on %I for insert with check (%s or %s)', name, writes, is_owner);
    execute format('create policy updates on %I for update using (%s or %s)', name, writes, is_owner);
    execute format('create policy deletes on %I for delete using (%s or %s)', name, writes, is_owner);
  end loop;

  execute format('create policy reads on project_reading for select using (%s or %s)',
                 replace(reads, 'scope_id = any', 'read_scope_id = any ((select readable_scopes())::bigint[]) and scope_id = any'),
                 is_owner);
  execute format('create policy inserts on project_reading for insert with check (%s or %s)',
                 replace(writes, 'scope_id = any', 'read_scope_id = any ((select readable_scopes())::bigint[]) and scope_id = any'),
                 is_owner);
  execute format('create policy deletes on project_reading for delete using (%s or %s)',
                 replace(writes, 'scope_id = any', 'read_scope_id = any ((select readable_scopes())::bigint[]) and scope_id = any'),
                 is_owner);

  foreach name in array array['document_stat', 'document_root', 'document'] loop
    execute format('create policy reads on %I for select using (%s or %s)', name, reads, is_owner);
  end loop;
  execute format('create policy updates on document_stat for update using (%s or %s)', writes, is_owner);
  execute format('create policy erases on document_stat for delete using (%s)', is_owner);
  execute format('create policy begins on document_stat for insert with check (%s)', is_owner);
  -- Members of a project read the documents of all its roots, and change those of their own.
  foreach name in array array['document_root', 'document'] loop
    execute format('create policy inserts on %I for insert with check (%s or %s)', name, owns, is_owner);
    execute format('create policy updates on %I for update using (%s or %s)', name, owns, is_owner);
    execute format('create policy deletes on %I for delete using (%s or %s)', name, owns, is_owner);
  end loop;

  foreach name in array array['tenant', 'project_member', 'eval_run'] loop
    execute format('create policy administers on %I using (%s or %s)', name, is_admin, is_owner);
  end loop;
  execute format('create policy reads on log_hour for select using (%s or %s)', is_admin, is_owner);
  execute format('create policy reads on quota for select using (tenant_id = (select acting_tenant()) or %s)', is_owner);
  -- What a whole tenant may store is said by whoever runs the service, and not by the tenant's administrators.
  execute format('create policy administers on quota using (%s and kind <> ''tenant'' or %s)', is_admin, is_owner);
  foreach name in array array['api_key', 'write_rate', 'write_probe', 'ui_session', 'ui_link', 'erasure', 'word_erasure', 'log_hour',
                             'schema_migration'] loop
    execute format('create policy maintains on %I using (%s)', name, is_owner);
  end loop;
  foreach name in array array['token_state', 'statement_state'] loop
    execute format('create policy reads on %I for select using (%s or %s)', name, reads, is_owner);
    execute format('create policy maintains on %I using (%s)', name, is_owner);
  end loop;
  execute format('create policy maintains on token_progress using (%s)', is_owner);
  execute format('create policy keeps on seal using (%s or current_user <> session_user)', is_owner);
  foreach name in array array['prompt', 'spend'] loop
    execute format('create policy keeps on %I using (tenant_id = (select acting_tenant()) or %s)', name, is_owner);
  end loop;
end
$$;


-- What runs before identity is known, as the owner, returning no more than it must. Each opens row-level
-- security for its own statements; a caller that is not the owner cannot, whatever it sets.

-- The key with this digest. No row when it is unknown or revoked.
create function authenticate(sha256 bytea)
returns table (key_id bigint, tenant_id bigint, role text, user_id text)
language plpgsql volatile security definer
set search_path = public, pg_temp
as $$
begin
  perform set_config('memex.maintenance', 'on', true);
  return query
    select k.key_id, k.tenant_id, k.role, k.user_id
      from public.api_key k
     where k.key_sha256 = authenticate.sha256
       and k.revoked_at is null;
  perform set_config('memex.maintenance', '', true);
end
$$;

-- The session of the web UI with this digest, and the key that opened it. No row when the session is unknown, was
-- revoked or has expired, or when its key was revoked.
create function authenticate_session(sha256 bytea)
returns table (session_id bigint, tenant_id bigint, role text, user_id text, created_at timestamptz,
               expires_at timestamptz, used_at timestamptz, key_id bigint, key_sha256 bytea, bound_user text)
language plpgsql volatile security definer
set search_path = public, pg_temp
as $$
begin
  perform set_config('memex.maintenance', 'on', true);
  return query
    select s.session_id, s.tenant_id, s.role, s.user_id, s.created_at, s.expires_at, s.used_at,
           k.key_id, k.key_sha256, k.user_id
      from public.ui_session s
      left join public.api_key k on k.key_id = s.key_id
     where s.token_sha256 = authenticate_session.sha256
       and s.revoked_at is null
       and s.expires_at > clock_timestamp()
       and (s.key_id is null or k.revoked_at is null);
  perform set_config('memex.maintenance', '', true);
end
$$;

-- The scopes that a caller may read, and whether it may write them. An agent's: its user's, the shared ones,
-- the projects its user is a member of. An admin's: a named user's, the shared ones, every open project.
create function resolve_scopes(tenant bigint, caller_role text, caller_user text)
returns table (scope_id bigint, kind text, key text, writable boolean, language text)
language plpgsql volatile security definer
set search_path = public, pg_temp
as $$
begin
  perform set_config('memex.maintenance', 'on', true);
  return query
    select s.scope_id, s.kind, s.key, s.kind in ('user', 'conversations', 'documents') or caller_role = 'admin',
           s.language
      from public.scope s
     where s.tenant_id = tenant
       and (s.kind in ('user', 'conversations', 'documents') and s.key = caller_user
            or s.kind = 'shared' and s.key = ''
            or s.kind = 'admin' and s.key = '' and caller_role = 'admin')
    union all
    select d.scope_id, d.kind, d.key, true, d.language
      from public.project_member m
      join public.scope s on s.scope_id = m.scope_id
      join public.scope d
        on d.tenant_id = tenant
       and d.key = s.key
       and d.kind in ('project', 'project_documents')
     where caller_role = 'agent'
       and m.tenant_id = tenant
       and m.user_id = caller_user
       and s.closed_at is null
    union all
    select d.scope_id, d.kind, d.key, true, d.language
      from public.scope s
      join public.scope d
        on d.tenant_id = tenant
       and d.key = s.key
       and d.kind in ('project', 'project_documents')
     where caller_role = 'admin'
       and s.tenant_id = tenant
       and s.kind = 'project'
       and s.closed_at is null;
  perform set_config('memex.maintenance', '', true);
end
$$;

-- Make a scope that a first call needs, or leave it as it is. Projects are made by admins only, and only an open one gets
-- documents.
create function ensure_scope(tenant bigint, scope_kind text, scope_key text, scope_language text)
returns void
language plpgsql volatile security definer
set search_path = public, pg_temp
as $$
declare
  made bigint;
begin
  if scope_kind not in ('user', 'shared', 'admin', 'visitor', 'conversations', 'documents', 'project_documents') then
    raise exception 'ensure_scope makes no % scope', scope_kind;
  end if;
  perform set_config('memex.maintenance', 'on', true);
  insert into public.scope (tenant_id, kind, key, language)
  select tenant, scope_kind, scope_key, scope_language
   where scope_kind <> 'project_documents'
      or exists (select from public.scope s
                  where s.tenant_id = tenant and s.kind = 'project' and s.key = scope_key and s.closed_at is null)
  on conflict (tenant_id, kind, key) do nothing
  returning scope_id into made;
  if made is not null then
    insert into public.scope_stat (scope_id, tenant_id) values (made, tenant);
    if scope_kind = 'conversations' then
      insert into public.conversation_stat (scope_id, tenant_id) values (made, tenant);
    elsif scope_kind in ('documents', 'project_documents') then
      insert into public.document_stat (scope_id, tenant_id) values (made, tenant);
    end if;
  end if;
  perform set_config('memex.maintenance', '', true);
end
$$;

revoke all on function authenticate(bytea) from public;
revoke all on function authenticate_session(bytea) from public;
revoke all on function resolve_scopes(bigint, text, text) from public;
revoke all on function ensure_scope(bigint, text, text, text) from public;

-- Fail if a user is being erased, or was erased after an access epoch. The caller is in maintenance. SQLSTATE MX004, with
-- the time at which the erasure ended, or nothing while it goes on. MX006, with the time of the epoch: words that the user
-- may read were erased after it.
create function refuse_erased(tenant bigint, caller_user text, known_epoch bigint) returns void
language plpgsql stable
set search_path = public, pg_temp
as $$
declare
  ended timestamptz;
begin
  select coalesce(e.finished_at, 'infinity') into ended
    from public.erasure e
   where e.tenant_id = tenant
     and e.user_id = caller_user
     and (e.finished_at is null or e.epoch > known_epoch)
   order by e.finished_at desc nulls first
   limit 1;
  if found then
    raise exception 'the user is erased' using
      errcode = 'MX004',
      detail = case when ended < 'infinity' then to_json(ended) #>> '{}' else '' end;
  end if;
  select max(w.raised_at) into ended
    from public.word_erasure w
   where w.tenant_id = tenant
     and w.epoch > known_epoch
     and (w.is_wide or w.user_id = caller_user);
  if ended is not null then
    raise exception 'words were erased' using errcode = 'MX006', detail = to_json(ended) #>> '{}';
  end if;
end
$$;
revoke all on function refuse_erased(bigint, text, bigint) from public;

-- What a caller may read and write now, whether its key may still act for it, and the epoch of that. A key is shown by
-- its digest; a call from the queue has only its number, and whoever runs commands on the machine has none. Nothing but
-- the epoch for a key that may not. The scope of visitors is none of the rights: it is no secret, and holds no files.
create function resolve_access(tenant bigint, caller_role text, caller_user text, key bigint, digest bytea)
returns table (epoch bigint, is_allowed boolean, rights bytea, scope_ids bigint[], kinds text[], keys text[],
               writables boolean[], languages text[], visitors_id bigint,
               secrets_remember text, secrets_files text)
language plpgsql volatile security definer
set search_path = public, pg_temp
as $$
begin
  perform set_config('memex.maintenance', 'on', true);
  -- The epoch first: what is read after it may be newer than the epoch, and never older.
  select t.access_epoch, t.secrets_remember, t.secrets_files
    into epoch, secrets_remember, secrets_files
    from public.tenant t
   where t.tenant_id = tenant;
  perform public.refuse_erased(tenant, caller_user, null);
  is_allowed := key is null or exists (
    select from public.api_key k
     where k.key_id = key
       and k.tenant_id = tenant
       and k.revoked_at is null
       and (digest is null or k.key_sha256 = digest)
       and k.role in (caller_role, 'admin')
       and (k.user_id is null or k.user_id = caller_user));
  select s.scope_id into visitors_id
    from public.scope s
   where s.tenant_id = tenant
     and s.kind = 'visitor'
     and s.key = '';
  perform set_config('memex.maintenance', '', true);
  if is_allowed then
    -- One statement: the digest is of the very rows that are returned. What is done about secrets counts as a right, so
    -- that a call with older rights notices when it is changed.
    select sha256(convert_to(string_agg(s::text, ' ' order by s.scope_id)
                             || coalesce(' ' || secrets_remember, '') || coalesce(' files ' || secrets_files, ''), 'UTF8')),
           array_agg(s.scope_id order by s.scope_id), array_agg(s.kind order by s.scope_id),
           array_agg(s.key order by s.scope_id), array_agg(s.writable order by s.scope_id),
           array_agg(s.language order by s.scope_id)
      into rights, scope_ids, kinds, keys, writables, languages
      from public.resolve_scopes(tenant, caller_role, caller_user) s;
  end if;
  return next;
end
$$;
revoke all on function resolve_access(bigint, text, text, bigint, bytea) from public;

-- Fail unless a caller may still read and write what it could in an epoch; return the epoch that holds now. If the
-- tenant's epoch is another one, what the caller may do is looked up, so a change that is none of its own stops no
-- call. With `known_rights`, which resolve_access returned, nothing may be gained either. SQLSTATE MX001: the key was
-- revoked, or may not act for this caller any more. MX002: the rights are others.
create function check_access(tenant bigint, caller_role text, caller_user text, key bigint, digest bytea,
                             known_epoch bigint, known_rights bytea, readable bigint[], writable bigint[])
returns bigint
language plpgsql volatile security definer
set search_path = public, pg_temp
as $$
declare
  epoch bigint;
  actual record;
begin
  perform set_config('memex.maintenance', 'on', true);
  select t.access_epoch into epoch from public.tenant t where t.tenant_id = tenant;
  if (epoch = known_epoch) is not true then
    perform public.refuse_erased(tenant, caller_user, known_epoch);
  end if;
  perform set_config('memex.maintenance', '', true);
  if (epoch = known_epoch) is not true then
    select * into actual from public.resolve_access(tenant, caller_role, caller_user, key, digest);
    if not actual.is_allowed then
      raise exception 'the key may not act for this caller any more' using errcode = 'MX001';
    end if;
    if actual.rights is distinct from known_rights
       and (known_rights is not null
            or not readable <@ coalesce(actual.scope_ids, '{}')
            or not writable <@ array(select s.scope_id
                                       from unnest(actual.scope_ids, actual.writables) as s (scope_id, is_writable)
                                      where s.is_writable)) then
      raise exception 'the rights of this caller are others now' using errcode = 'MX002';
    end if;
    epoch := actual.epoch;
  end if;
  return epoch;
end
$$;
revoke all on function check_access(bigint, text, text, bigint, bytea, bigint, bytea, bigint[], bigint[]) from public;


-- Views for questions in SQL of one's own (`memex sql query`). Row-level security of the tables behind them decides which
-- rows they show, as for everything else that acts for a user.

-- The files as they stand.
create view my_files with (security_invoker = true) as
select case scope.kind when 'project' then 'projects/' || scope.key else scope.kind end || '/' || revision.path as path,
       revision.title, revision.tags, revision.version, revision.content, revision.size_chars, revision.pinned,
       revision.dated as day, revision.actor, revision.channel, revision.tool_call_id,
       revision.created_at as updated_at
  from revision
  join scope on scope.scope_id = revision.scope_id
 where revision.rev_end is null
   and not revision.deleted;

-- Every version of every file.
create view my_revisions with (security_invoker = true) as
select case scope.kind when 'project' then 'projects/' || scope.key else scope.kind end || '/' || revision.path as path,
       revision.version, revision.operation, revision.deleted, revision.title, revision.content, revision.reason,
       revision.actor, revision.channel, revision.tool_call_id, revision.created_at
  from revision
  join scope on scope.scope_id = revision.scope_id;

-- The imported conversations.
create view my_conversations with (security_invoker = true) as
select conversation.conversation_id as id, source.kind as format, source.label as source, source.account,
       conversation.title, conversation.project, conversation.started_at, conversation.last_at,
       conversation.is_complete, conversation.imported_at
  from conversation
  join source
    on source.scope_id = conversation.scope_id
   and source.source_id = conversation.source_id;

-- Their messages.
create view my_messages with (security_invoker = true) as
select conversation.conversation_id, message.number, message.position, message.parent, message.role, message.part,
       message.author, message.text, message.said_at, message.model, message.human_authored, message.on_path,
       message.origin
  from message
  join conversation
    on conversation.scope_id = message.scope_id
   and conversation.conversation_no = message.conversation_no;

-- The documents of folders: those of the user, and of the user's projects.
create view my_documents with (security_invoker = true) as
select 'documents/' || case scope.kind when 'documents' then 'user' else 'projects/' || scope.key end || '/' || root.name
         || '/' || document.path as reference,
       case scope.kind when 'project_documents' then scope.key end as project, root.name as root, document.path,
       document.kind, document.title, document.tags, document.text, document.size_bytes,
       encode(document.sha256, 'hex') as sha256, document.changed_at, document.updated_at
  from document
  join document_root as root
    on root.scope_id = document.scope_id
   and root.root_no = document.root_no
  join scope on scope.scope_id = document.scope_id;

-- The calls in the log, without the operations inside them.
create view my_calls with (security_invoker = true) as
select operation.tool_call_id, operation.kind as tool, operation.status, operation.started_at, operation.duration_ms,
       operation.principal ->> 'actor' as actor, operation.error_code, operation.model, operation.request,
       operation.response, operation.saw
  from operation
 where operation.parent_id is null;


-- The access epoch of a tenant.

-- Set the access epochs of the tenants whose rows were changed. The owner does it, whoever made the change. The setting
-- is the function's own: a transaction in maintenance stays in maintenance.
create function raise_access_epoch() returns trigger
language plpgsql volatile security definer
set search_path = public, pg_temp
as $$
declare
  changed bigint[];
  maintenance text := coalesce(current_setting('memex.maintenance', true), '');
begin
  perform set_config('memex.maintenance', 'on', true);
  if tg_op = 'TRUNCATE' then
    select array_agg(t.tenant_id) into changed from public.tenant t;
  elsif tg_level = 'ROW' then
    changed := array[old.tenant_id, new.tenant_id];
  elsif tg_op = 'INSERT' then
    select array_agg(distinct r.tenant_id) into changed from added r;
  elsif tg_op = 'DELETE' then
    select array_agg(distinct r.tenant_id) into changed from removed r;
  else
    select array_agg(distinct r.tenant_id) into changed
      from (select a.tenant_id from added a union all select b.tenant_id from removed b) r;
  end if;
  update public.tenant t
     set access_epoch = greatest(t.access_epoch + 1, (extract(epoch from clock_timestamp()) * 1000000)::bigint)
   where t.tenant_id = any (changed);
  perform set_config('memex.maintenance', maintenance, true);
  return null;
end
$$;
revoke all on function raise_access_epoch() from public;

-- A new key raises nothing: nobody can have kept what an unknown key opens. Nor does a user's first call, or the first
-- one of a tenant, which makes a scope that no other caller may read.
create trigger raise_access_epoch_on_update after update on api_key
  referencing old table as removed new table as added
  for each statement execute function raise_access_epoch();
create trigger raise_access_epoch_on_delete after delete on api_key
  referencing old table as removed
  for each statement execute function raise_access_epoch();
create trigger raise_access_epoch_on_truncate after truncate on api_key
  for each statement execute function raise_access_epoch();

create trigger raise_access_epoch_on_insert after insert on project_member
  referencing new table as added
  for each statement execute function raise_access_epoch();
create trigger raise_access_epoch_on_update after update on project_member
  referencing old table as removed new table as added
  for each statement execute function raise_access_epoch();
create trigger raise_access_epoch_on_delete after delete on project_member
  referencing old table as removed
  for each statement execute function raise_access_epoch();
create trigger raise_access_epoch_on_truncate after truncate on project_member
  for each statement execute function raise_access_epoch();

create trigger raise_access_epoch_on_insert after insert on erasure
  referencing new table as added
  for each statement execute function raise_access_epoch();

-- Every write updates its scope, so these look at no other column and at no other statement.
create trigger raise_access_epoch_on_insert after insert on scope
  for each row when (new.kind in ('project', 'documents', 'project_documents')) execute function raise_access_epoch();
create trigger raise_access_epoch_on_update after update of tenant_id, kind, key, language, closed_at on scope
  for each row
  when ((old.tenant_id, old.kind, old.key, old.language, old.closed_at)
        is distinct from (new.tenant_id, new.kind, new.key, new.language, new.closed_at))
  execute function raise_access_epoch();
create trigger raise_access_epoch_on_delete after delete on scope
  referencing old table as removed
  for each statement execute function raise_access_epoch();
create trigger raise_access_epoch_on_truncate after truncate on scope
  for each statement execute function raise_access_epoch();


-- Quotas.

-- What a tenant stores over all of its scopes; or one of its users or projects, and then no row if it has no scope.
create function tenant_usage(tenant bigint, of_kind text default 'tenant', of_key text default '')
returns table (files bigint, bytes bigint, revisions bigint, stored_bytes bigint)
language sql stable
set search_path = public, pg_temp
as $$
  select coalesce(sum(stat.files), 0)::bigint,
         coalesce(sum(case when s.counted_rev = s.rev then s.standing_bytes else recounted.bytes end
                      + evidence.bytes), 0)::bigint,
         coalesce(sum(case when s.counted_rev = s.rev then s.revisions else recounted.revisions end), 0)::bigint,
         coalesce(sum(case when s.counted_rev = s.rev then s.stored_bytes else recounted.stored_bytes end
                      + evidence.bytes), 0)::bigint
    from (select *
            from public.scope
           where scope.tenant_id = tenant
             and of_kind = 'tenant'
           union all
          select *
            from public.scope
           where scope.tenant_id = tenant
             and scope.kind = any (case of_kind when 'user' then array['user', 'conversations', 'documents']
                                                when 'project' then array['project', 'project_documents'] end)
             and scope.key = of_key) s
    join public.scope_stat stat using (scope_id)
   cross join lateral (
         select coalesce((select said.text_bytes from public.conversation_stat said where said.scope_id = s.scope_id), 0)
                + coalesce((select held.text_bytes from public.document_stat held where held.scope_id = s.scope_id), 0)
                as bytes) as evidence
    left join lateral (
         select coalesce(sum(octet_length(r.content)) filter (where r.rev_end is null and r.origin is null), 0) as bytes,
                count(*) as revisions,
                coalesce(sum(octet_length(r.content)), 0) as stored_bytes
           from public.revision r
          where s.counted_rev <> s.rev
            and r.scope_id = s.scope_id) as recounted on true
  having of_kind = 'tenant' or count(*) > 0
$$;

-- Fail if a tenant, or one of its users or projects, stores more than its quota allows, in one of the measures in which
-- this transaction has added to it. What has no room left takes no more of what adds 0, either. A row that all writers
-- of it lock is locked until the commit, so what others add at the same moment is counted. SQLSTATE MX003, with JSON.
create function check_tenant_quota(tenant bigint, added jsonb, of_kind text default 'tenant', of_key text default '')
returns void
language plpgsql volatile security definer
set search_path = public, pg_temp
as $$
declare
  maintenance text := coalesce(current_setting('memex.maintenance', true), '');
  limits jsonb;
  used jsonb;
  measure text;
begin
  perform set_config('memex.maintenance', 'on', true);
  if of_kind = 'tenant' then
    perform 1 from public.quota q where q.tenant_id = tenant and q.kind = 'tenant' for update;
  end if;
  -- Limits of its own go before those of all users or projects.
  select coalesce(jsonb_object_agg(q.measure, q.most order by q.key), '{}') into limits
    from (select quota.key, said.key as measure, said.value as most
            from public.quota
           cross join lateral jsonb_each(to_jsonb(quota) - '{tenant_id,kind,key}'::text[]) as said
           where quota.tenant_id = tenant
             and quota.kind = of_kind
             and quota.key in ('', of_key)
             and said.value <> 'null') q;
  if limits ?| array(select jsonb_object_keys(added)) then
    perform 1
       from public.scope s
       join public.scope_stat stat using (scope_id)
      where s.tenant_id = tenant
        and s.kind = of_kind
        and s.key = of_key
        for update of stat;
    -- A statement of its own, which sees what was committed while the row was waited for.
    select to_jsonb(u) into used from public.tenant_usage(tenant, of_kind, of_key) u;
  end if;
  perform set_config('memex.maintenance', maintenance, true);
  for measure in select jsonb_object_keys(added) loop
    if (used ->> measure)::bigint > (limits ->> measure)::bigint
       or (added ->> measure)::bigint = 0 and (used ->> measure)::bigint = (limits ->> measure)::bigint then
      raise exception 'a quota is exceeded' using
        errcode = 'MX003',
        detail = jsonb_build_object('kind', of_kind, 'key', of_key, 'measure', measure,
                                    'limit', (limits ->> measure)::bigint, 'added', (added ->> measure)::bigint,
                                    'used', (used ->> measure)::bigint - (added ->> measure)::bigint)::text;
    end if;
  end loop;
end
$$;

-- Whatever adds messages, events or documents counts them in these rows, so nothing passes by.
create function check_evidence_quota() returns trigger
language plpgsql volatile security definer
set search_path = public, pg_temp
as $$
declare
  maintenance text := coalesce(current_setting('memex.maintenance', true), '');
  added bigint := new.text_bytes - old.text_bytes;
  holder record;
begin
  perform set_config('memex.maintenance', 'on', true);
  select case s.kind when 'project_documents' then 'project' else 'user' end as kind, s.key into holder
    from public.scope s
   where s.scope_id = new.scope_id
     and exists (select from public.quota q where q.tenant_id = new.tenant_id);
  if found then
    perform public.check_tenant_quota(new.tenant_id, amounts.added, holder.kind, holder.key),
            public.check_tenant_quota(new.tenant_id, amounts.added)
       from (select jsonb_build_object('bytes', added, 'stored_bytes', added) as added) amounts;
  end if;
  perform set_config('memex.maintenance', maintenance, true);
  return null;
end
$$;
create trigger check_evidence_quota after update on conversation_stat
  for each row when (new.text_bytes > old.text_bytes or new.next_event > old.next_event)
  execute function check_evidence_quota();
create trigger check_evidence_quota after update on document_stat
  for each row when (new.text_bytes > old.text_bytes)
  execute function check_evidence_quota();
revoke all on function tenant_usage(bigint, text, text) from public;
revoke all on function check_tenant_quota(bigint, jsonb, text, text) from public;
revoke all on function check_evidence_quota() from public;

-- Count a write of the acting tenant, and fail if a limit is reached. A bucket's row is locked until the commit, so what
-- others count at the same moment is seen; a transaction that fails counts nothing. SQLSTATE MX005, with JSON.
create function count_write(rates jsonb) returns void
language plpgsql volatile security definer
set search_path = public, pg_temp
as $$
declare
  maintenance text := coalesce(current_setting('memex.maintenance', true), '');
  tenant bigint := public.acting_tenant();
  rate record;
  full_in_s double precision;
  wait_s double precision;
begin
  perform set_config('memex.maintenance', 'on', true);
  for rate in
    select * from jsonb_to_recordset(rates)
      as given (name text, holder text, cost_s double precision, period_s double precision)
  loop
    insert into public.write_rate as bucket (tenant_id, name, holder, full_at)
    values (tenant, rate.name, rate.holder, clock_timestamp() + make_interval(secs => rate.cost_s))
    on conflict (tenant_id, name, holder) do update
       set full_at = greatest(bucket.full_at, clock_timestamp()) + make_interval(secs => rate.cost_s)
    returning extract(epoch from full_at - clock_timestamp()) into full_in_s;
    -- A write that is larger than the bucket waits until the bucket is full. Moments are exact to a microsecond.
    wait_s := least(full_in_s - rate.period_s, full_in_s - rate.cost_s);
    if wait_s > 0.001 then
      raise exception 'a rate of writes is reached' using
        errcode = 'MX005', detail = jsonb_build_object('name', rate.name, 'wait_s', wait_s)::text;
    end if;
  end loop;
  perform set_config('memex.maintenance', maintenance, true);
end
$$;
revoke all on function count_write(jsonb) from public;

-- Have the token states of these scopes' new texts made once this transaction is committed; as embed_later, which comes
-- with pgvector. Needs the queue of jobs.
create function states_later(scopes bigint[])
returns void
language plpgsql volatile security definer
set search_path = procrastinate, pg_temp
as $$
declare
  scope bigint;
  lock_name text;
begin
  for scope in select distinct named from unnest(scopes) as named order by named loop
    lock_name := 'embed_scope:' || scope;
    loop
      perform from procrastinate_jobs where queueing_lock = lock_name and status = 'todo' for share;
      exit when found;
      begin
        perform procrastinate_defer_jobs_v1(array[
          row('embedding', 'embed_scope', 0, lock_name, lock_name, jsonb_build_object('scope_id', scope), null)
        ]::procrastinate_job_to_defer_v1[]);
        exit;
      exception
        when unique_violation then null;  -- another transaction was first: its job is held on the next round
      end;
    end loop;
  end loop;
end
$$;
revoke all on function states_later(bigint[]) from public;
