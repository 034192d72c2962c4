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

alter table observation add column by_model boolean not null default false;
alter table work_derived add column reader text not null default '';

do $$
declare
  is_owner text := $p$(select acting_as()) = 'owner'$p$;
  reads text := $p$tenant_id = (select acting_tenant())
    and (scope_id = any ((select readable_scopes())::bigint[]) or (select acting_as()) = 'admin')$p$;
  writes text := $p$tenant_id = (select acting_tenant())
    and (scope_id = any ((select writable_scopes())::bigint[]) or (select acting_as()) = 'admin')$p$;
begin
  alter table work_answer enable row level security;
  alter table work_answer force row level security;
  execute format('create policy reads on work_answer for select using (%s or %s)', reads, is_owner);
  execute format('create policy inserts on work_answer for insert with check (%s or %s)', writes, is_owner);
  execute format('create policy updates on work_answer for update using (%s or %s)', writes, is_owner);
  execute format('create policy deletes on work_answer for delete using (%s or %s)', writes, is_owner);
end
$$;
