-- Record what a call took out of these scopes, whose locks are held and which have their new revisions already. What is
-- forgotten is no longer replaced alone. No rows.
with taken as materialized (
  select taken.*, decode(taken.key, 'hex') as line_key, scope.rev, scope.tenant_id,
         coalesce((select tombstone.salt
                     from tombstone
                    where tombstone.scope_id = taken.scope_id
                    limit 1), %(salt)s::bytea) as salt
    from jsonb_to_recordset(%(taken)s::jsonb)
           as taken (scope_id bigint, key text, strength text, said text[], words text[])
    join scope using (scope_id)
),
ended as (
  update tombstone as old
     set rev_end = taken.rev
    from taken
   where old.scope_id = taken.scope_id
     and old.line_key = taken.line_key
     and (old.strength = taken.strength or taken.strength = 'forgotten')
     and old.rev < taken.rev
     and old.rev_end is null
)
insert into tombstone
  (scope_id, tenant_id, line_key, strength, salt, value_digests, value_sizes, word_digests, ended_at, rev, tool_call_id)
select scope_id, tenant_id, line_key, strength, salt,
       array(select substr(sha256(salt || convert_to(value, 'UTF8')), 1, 16)
               from unnest(said) with ordinality as one (value, place)
              order by place),
       array(select length(value)
               from unnest(said) with ordinality as one (value, place)
              order by place),
       array(select substr(sha256(salt || convert_to(word, 'UTF8')), 1, 16)
               from unnest(words) as one (word)),
       -- The clock of the process may be ahead.
       least(%(ended_at)s::timestamptz, clock_timestamp()), rev, %(tool_call_id)s
  from taken
    on conflict do nothing;
