-- How many changes each of these scopes has seen, how it is indexed, and whether it has entries of the journal; null for a
-- scope whose texts have to be counted anew.
select scope_id, rev, language, rebuilds,
       case when kind <> 'user' then false when counted_rev = rev then journal_bytes > 0 end as has_journal
  from scope
 where scope_id = any (%(scope_ids)s::bigint[]);
