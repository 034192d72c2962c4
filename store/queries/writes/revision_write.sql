-- Count one more change of each scope, whose lock is held, and close and open the revisions of a commit. No rows.
with advanced as (
  -- A time is never earlier than the last one's. The first commit says what indexes the scope.
  update scope
     set rev = scope.rev + 1,
         last_at = greatest(clock_timestamp(), scope.last_at),
         analyzer = coalesce(scope.analyzer, changed.analyzer),
         standing_bytes = changed.standing_bytes,
         revisions = changed.revisions,
         stored_bytes = changed.stored_bytes,
         journal_bytes = changed.journal_bytes,
         counted_rev = scope.rev + 1
    from unnest(%(scope_ids)s::bigint[], %(analyzers)s::text[], %(standing_bytes)s::bigint[], %(counts)s::bigint[],
                %(stored_bytes)s::bigint[], %(journal_bytes)s::bigint[])
         as changed (scope_id, analyzer, standing_bytes, revisions, stored_bytes, journal_bytes)
   where scope.scope_id = changed.scope_id
  returning scope.scope_id, scope.rev, scope.last_at
),
written as materialized (
  select *
    from jsonb_to_recordset(%(revisions)s::jsonb)
         as written (scope_id bigint, file_id bigint, head_version integer, version integer, path text, content text,
                     operation text, deleted boolean, counterpart text, reason text, title text, tags text[],
                     tag_keys text[], size_chars integer, path_key text, name_key text, pinned boolean, dated date,
                     is_entry boolean, origin text, said_at timestamptz, about text, told_by text, told_in text,
                     valid daterange)
),
closed as (
  -- Each head is found by its key and closed at its place (ctid); one that was closed by somebody else meanwhile is at
  -- another, and the unique indexes refuse a second head.
  update revision
     set rev_end = located.rev
    from (select head.place, written.scope_id, advanced.rev
            from written
            join advanced using (scope_id)
           cross join lateral (
                 select revision.ctid as place
                   from revision
                  where revision.scope_id = written.scope_id
                    and revision.file_id = written.file_id
                    and revision.version = written.head_version
                    and revision.rev_end is null
                 offset 0) as head) as located
   where revision.ctid = located.place
     and revision.scope_id is not distinct from located.scope_id
  returning revision.file_id
)
insert into revision
  (scope_id, tenant_id, file_id, version, rev, path, content, sha256, operation, deleted, counterpart, reason,
   actor, channel, tool_call_id, created_at, title, tags, tag_keys, size_chars, path_key, name_key, pinned,
   dated, origin, said_at, about, valid)
select written.scope_id, %(tenant_id)s::bigint, written.file_id, written.version, advanced.rev, written.path,
       written.content, sha256(convert_to(written.content, 'UTF8')), written.operation, written.deleted,
       written.counterpart, written.reason, coalesce(written.told_by, %(actor)s::text), %(channel)s::text,
       coalesce(written.told_in, %(tool_call_id)s::text),
       advanced.last_at, written.title, written.tags, written.tag_keys, written.size_chars, written.path_key,
       written.name_key, written.pinned, written.dated, coalesce(written.origin, told.origin),
       coalesce(written.said_at, told.said_at), coalesce(written.about, told.about),
       coalesce(written.valid, told.valid)
  from written
  join advanced using (scope_id)
  left join lateral (  -- an entry of the journal stays where it is, and what is known of it stays too
        select *
          from revision
         where written.is_entry
           and written.origin is null
           and revision.scope_id = written.scope_id
           and revision.path = written.path
         order by revision.version desc
         limit 1) as told on true
 where (select count(*) from closed) >= 0;  -- waits until all of them are closed
