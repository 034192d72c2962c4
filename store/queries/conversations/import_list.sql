-- The imports of a user, the newest first; that of an id alone, if one is given.
select import_id, name, is_dry_run, size_bytes, report, error, wants_end, started_at, ended_at,
       case
         when ended_at is null and heard_at < now() - make_interval(secs => %(silent_s)s) then 'cut_off'
         else state
       end as state
  from conversation_import
 where scope_id = %(scope_id)s
   and (%(import_id)s::text is null or import_id = %(import_id)s)
 order by started_at desc, import_id
 limit %(kept)s;
