-- Remove the vectors, of any model, of texts that stand nowhere in a scope any more: those of a conversation that is
-- deleted, in the same transaction. Callers themselves change no vectors.
create function forget_vectors(of_scope bigint, sha256s bytea[])
returns void
language plpgsql volatile security definer
set search_path = public, pg_temp
as $$
begin
  if not of_scope = any (writable_scopes()) then
    raise exception 'scope % is none that this caller writes', of_scope using errcode = 'insufficient_privilege';
  end if;
  perform set_config('memex.maintenance', 'on', true);
  delete from embedding
   where embedding.scope_id = of_scope
     and embedding.text_sha256 = any (sha256s)
     and not exists (
           select
             from chunk
            where chunk.scope_id = of_scope
              and chunk.sha256 = embedding.text_sha256
           offset 0);
  perform set_config('memex.maintenance', '', true);
end
$$;

revoke all on function forget_vectors(bigint, bytea[]) from public;
