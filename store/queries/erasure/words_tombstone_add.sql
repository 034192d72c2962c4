-- Leave the tombstones of an erasure of words that has not ended, as of the newest change of the scopes: that of its user, and
-- the shared ones that held the words. The row of the erasure is locked. No rows.
insert into tombstone
  (scope_id, tenant_id, line_key, strength, salt, value_digests, value_sizes, word_digests, ended_at, rev, tool_call_id)
select scope.scope_id, scope.tenant_id, decode(gone.key, 'hex'), 'forgotten', %(salt)s::bytea,
       array(select decode(value, 'hex')
               from unnest(gone.values) with ordinality as one (value, place)
              order by place),
       gone.sizes,
       array(select decode(word, 'hex')
               from unnest(gone.words) as one (word)),
       %(ended_at)s::timestamptz, scope.rev, %(tool_call_id)s
  from word_erasure
  join scope using (tenant_id)
 cross join jsonb_to_recordset(%(sentences)s::jsonb)
            as gone (key text, sizes smallint[], "values" text[], words text[])
 where word_erasure.erasure_id = %(erasure_id)s::text
   and word_erasure.finished_at is null
   and (scope.kind = 'user' and scope.key = word_erasure.user_id
        or scope.kind in ('shared', 'project') and scope.scope_id = any (word_erasure.scope_ids))
    on conflict do nothing;
