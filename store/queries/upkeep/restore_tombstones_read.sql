-- What was forgotten and replaced in a scope up to its change `last_rev`, in the order in which it was. What was lifted after
-- that stands.
select line_key, strength, salt, value_digests, value_sizes, word_digests, ended_at, rev,
       case when rev_end <= %(last_rev)s then rev_end end as rev_end, tool_call_id,
       case when rev_end <= %(last_rev)s then lifted_in end as lifted_in
  from tombstone
 where scope_id = %(scope_id)s
   and rev <= %(last_rev)s
 order by rev, line_key;
