-- Which statements contradict older ones, as this scope knew it up to its change `last_rev`, in the order in which it was
-- known. What ended after that holds. Of the entries and pages of users, those of one user alone are named.
select older.kind as older_kind, older.key as older_owner, rival.older_path, rival.older_key, rival.older_start,
       rival.older_end, newer.kind as newer_kind, newer.key as newer_owner, rival.newer_path, rival.newer_key,
       rival.newer_start, rival.newer_end, rival.is_settled, rival.rev,
       case when rival.rev_end <= %(last_rev)s then rival.rev_end end as rev_end, rival.tool_call_id
  from rival
  join scope as older
    on older.scope_id = rival.older_scope
   and (older.kind <> 'user' or older.key = %(user_id)s::text)
  join scope as newer
    on newer.scope_id = rival.newer_scope
   and (newer.kind <> 'user' or newer.key = %(user_id)s::text)
 where rival.scope_id = %(scope_id)s
   and rival.rev <= %(last_rev)s
 order by rival.rev, rival.older_path, rival.older_key, rival.newer_path, rival.newer_key, older_kind, newer_kind;
