-- What was forgotten or replaced in these scopes, as memory stood after the change `rev` of each; the newest first.
select tombstone.scope_id, tombstone.line_key, tombstone.strength, tombstone.salt, tombstone.value_digests,
       tombstone.value_sizes, tombstone.word_digests, tombstone.ended_at, tombstone.tool_call_id
  from unnest(%(scope_ids)s::bigint[], %(revs)s::bigint[]) as seen (scope_id, rev)
  join tombstone using (scope_id)
 where tombstone.rev <= seen.rev
   and (tombstone.rev_end is null or tombstone.rev_end > seen.rev)
 order by tombstone.ended_at desc, tombstone.scope_id, tombstone.line_key
 limit %(limit)s;
