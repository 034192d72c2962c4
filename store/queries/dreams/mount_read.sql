-- What was chosen for scopes, and how far dreams have seen them; no row for one of which nobody chose anything.
select scope_id, mode, auto_kinds, paused_until, seen_rev, dreamt_at, lease_until
  from dream
 where scope_id = any (%(scope_ids)s::bigint[]);
