-- The lines that were taken out of pages and are not put back, newest first, each with the words as the page held them
-- last. No row for a line whose page holds it again. `handle` names a line as long as its page stands or is deleted.
with seen as (
  select scope_id, mount
    from unnest(%(scope_ids)s::bigint[], %(mounts)s::text[]) as seen (scope_id, mount)
),
-- Words of the journal alone that were forgotten are one line, however many entries had them; none if told anew since.
gone as materialized (
  select distinct on (statement.scope_id, of_page.file_id, statement.line_key)
         statement.*, seen.mount, regexp_match(statement.held_in, '^(.*)@(\d+):(\d+)-(\d+)$') as held
    from statement
    join seen using (scope_id)
   cross join lateral (
          select case when statement.state <> 'forgotten'
                        or not starts_with(statement.held_in, seen.mount || '/' || statement.entry_path || '@')
                      then statement.file_id end as file_id) as of_page
   where statement.rev_end is null
     and statement.state = any (%(states)s::text[])
     and statement.held_in is not null
     and (of_page.file_id is not null
          or coalesce((select tombstone.rev_end is null
                         from tombstone
                        where tombstone.scope_id = statement.scope_id
                          and tombstone.line_key = statement.line_key
                        order by tombstone.rev desc
                        limit 1), true))
     and not exists (
           select
             from statement as standing
            where standing.scope_id = statement.scope_id
              and standing.file_id = statement.file_id
              and standing.line_key = statement.line_key
              and standing.rev_end is null
              and standing.state in ('in_force', 'put_back'))
   order by statement.scope_id, of_page.file_id, statement.line_key, statement.changed_at desc
),
listed as (
  select gone.scope_id, gone.state, gone.held_in, gone.newer, gone.tool_call_id, gone.changed_at, gone.mount, gone.held,
         left(encode(sha256(convert_to(gone.scope_id || ':' || gone.file_id || ':', 'UTF8') || gone.line_key), 'hex'), 12)
           as handle,
         coalesce(gone.mount || '/' || page.path, gone.held[1]) as path,
         page.path is not null as page_stands
    from gone
    left join lateral (
           select revision.path
             from revision
            where revision.scope_id = gone.scope_id
              and revision.file_id = gone.file_id
              and revision.rev_end is null
              and not revision.deleted) as page on true
)
select listed.handle, listed.state, listed.path, listed.page_stands, listed.held_in, listed.newer, listed.tool_call_id,
       listed.changed_at, substring(stored.content from listed.held[3]::integer + 1
                                    for listed.held[4]::integer - listed.held[3]::integer) as text
  from (select *
          from listed
         where starts_with(path, %(prefix)s)
           and (%(before_at)s::timestamptz is null
                or (changed_at, handle) < (%(before_at)s::timestamptz, %(before_handle)s::text))
         order by changed_at desc, handle desc
         limit %(limit)s) as listed
  left join revision as stored
    on stored.scope_id = listed.scope_id
   and stored.path = substr(listed.held[1], length(listed.mount) + 2)
   and stored.version = listed.held[2]::integer
   and not stored.deleted
 order by listed.changed_at desc, listed.handle desc;
