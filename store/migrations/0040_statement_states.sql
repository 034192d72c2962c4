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

do $$
declare
  is_owner text := $p$(select acting_as()) = 'owner'$p$;
  reads text := $p$tenant_id = (select acting_tenant())
    and (scope_id = any ((select readable_scopes())::bigint[]) or (select acting_as()) = 'admin')$p$;
begin
  alter table statement_state enable row level security;
  alter table statement_state force row level security;
  execute format('create policy reads on statement_state for select using (%s or %s)', reads, is_owner);
  execute format('create policy maintains on statement_state using (%s)', is_owner);
end
$$;

-- What was embedded before has no statements yet: token states and statements are made together, once more.
do $$
begin
  delete from token_state;
  update token_progress set rev = -1;
  if to_regclass('embedding_progress') is not null then
    update embedding_progress set rev = -1 where model like 'local:%';
  end if;
end
$$;
