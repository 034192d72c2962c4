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

do $$
declare
  is_owner text := $p$(select acting_as()) = 'owner'$p$;
  reads text := $p$tenant_id = (select acting_tenant())
    and (scope_id = any ((select readable_scopes())::bigint[]) or (select acting_as()) = 'admin')$p$;
begin
  alter table token_state enable row level security;
  alter table token_state force row level security;
  execute format('create policy reads on token_state for select using (%s or %s)', reads, is_owner);
  execute format('create policy maintains on token_state using (%s)', is_owner);
end
$$;

-- What the local model embedded before has no states yet.
do $$
begin
  if to_regclass('embedding_progress') is not null then
    update embedding_progress set rev = -1 where model like 'local:%';
  end if;
end
$$;
