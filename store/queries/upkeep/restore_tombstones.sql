-- Put into a scope what was forgotten and replaced in it.
insert into tombstone
  (scope_id, tenant_id, line_key, strength, salt, value_digests, value_sizes, word_digests, ended_at, rev, rev_end,
   tool_call_id, lifted_in)
select %(scope_id)s::bigint, %(tenant_id)s::bigint, decode(put.line_key, 'hex'), put.strength, decode(put.salt, 'hex'),
       array(select decode(digest, 'hex')
               from unnest(put.value_digests) with ordinality as one (digest, place)
              order by place),
       put.value_sizes, array(select decode(digest, 'hex')
                                from unnest(put.word_digests) as one (digest)),
       put.ended_at, put.rev, put.rev_end, put.tool_call_id, put.lifted_in
  from jsonb_to_recordset(%(tombstones)s::jsonb)
         as put (line_key text, strength text, salt text, value_digests text[], value_sizes smallint[],
                 word_digests text[], ended_at timestamptz, rev bigint, rev_end bigint, tool_call_id text,
                 lifted_in text)
    on conflict do nothing;
