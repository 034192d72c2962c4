-- Record what a commit made of the lines of pages: `filed` from words of the journal, `ended`, or `back` again. The pages
-- have their new revisions already. No rows.
with page as materialized (
  select changed.*, decode(changed.key, 'hex') as line_key, scope.rev, scope.tenant_id, head.file_id,
         -- The clock of the process may be ahead.
         %(said_on)s::date as said_on, least(%(accepted_at)s::timestamptz, clock_timestamp()) as accepted_at
    from jsonb_to_recordset(%(lines)s::jsonb)
           as changed (scope_id bigint, path text, key text, change text, state text, held_in text, newer text,
                       entry_scope bigint, entry_path text, start_char integer, end_char integer, is_undone boolean)
    join scope using (scope_id)
   cross join lateral (
          select revision.file_id
            from revision
           where revision.scope_id = changed.scope_id
             and revision.path = changed.path
             and revision.rev_end is null
           order by revision.deleted, revision.version desc
           limit 1) as head
),
ended as (
  update statement as old
     set rev_end = page.rev
    from page
   where page.change = 'ended'
     and old.scope_id = page.scope_id
     and old.file_id = page.file_id
     and old.line_key = page.line_key
     and old.state in ('in_force', 'put_back')
     and old.rev_end is null
  returning old.scope_id, old.tenant_id, old.file_id, old.line_key, old.entry_scope,
            old.entry_path, old.start_char, old.end_char, page.state, page.rev, page.held_in, page.newer,
            old.said_on, old.accepted_at, old.rev as since, page.is_undone
),
back as (
  update statement as old
     set rev_end = page.rev
    from page
   where page.change = 'back'
     and old.scope_id = page.scope_id
     and old.line_key = page.line_key
     and old.state in ('replaced', 'closed', 'forgotten', 'removed')
     and old.rev_end is null
  returning old.scope_id, old.tenant_id, page.file_id, old.line_key, old.entry_scope,
            old.entry_path, old.start_char, old.end_char, page.rev, old.said_on,
            old.accepted_at
),
-- Of what stands and is said again, the last time counts.
again as (
  update statement as old
     set said_on = page.said_on,
         accepted_at = page.accepted_at
    from page
   where page.change = 'filed'
     and page.state = 'in_force'
     and old.scope_id = page.scope_id
     and old.file_id = page.file_id
     and old.line_key = page.line_key
     and old.state in ('in_force', 'put_back')
     and old.rev_end is null
     and (old.said_on, old.accepted_at) < (page.said_on, page.accepted_at)
)
insert into statement
  (scope_id, tenant_id, file_id, line_key, entry_scope, entry_path, start_char, end_char, state, rev, held_in, newer,
   tool_call_id, said_on, accepted_at)
-- Where a line goes that had been put back, because that is undone, what was known of it before holds again.
select ended.scope_id, ended.tenant_id, ended.file_id, ended.line_key, ended.entry_scope, ended.entry_path,
       ended.start_char, ended.end_char, coalesce(before.state, ended.state), ended.rev,
       coalesce(before.held_in, ended.held_in), case when before.state is null then ended.newer else before.newer end,
       %(tool_call_id)s, ended.said_on, ended.accepted_at
  from ended
  left join statement as before
    on ended.is_undone
   and before.scope_id = ended.scope_id
   and before.line_key = ended.line_key
   and before.entry_path = ended.entry_path
   and before.start_char = ended.start_char
   and before.rev_end = ended.since
   and before.state in ('replaced', 'closed', 'forgotten', 'removed')
union all
select back.scope_id, back.tenant_id, back.file_id, back.line_key, back.entry_scope, back.entry_path, back.start_char,
       back.end_char, 'put_back', back.rev, null, null, %(tool_call_id)s, coalesce(filed.said_on, back.said_on),
       coalesce(filed.accepted_at, back.accepted_at)
  from back
  left join lateral (
         select page.said_on, page.accepted_at
           from page
          where page.change = 'filed'
            and page.scope_id = back.scope_id
            and page.file_id = back.file_id
            and page.line_key = back.line_key
          limit 1) as filed on true
union all
select scope_id, tenant_id, file_id, line_key, entry_scope, entry_path, start_char, end_char, state, rev, null, null,
       %(tool_call_id)s, said_on, accepted_at
  from page
 where change = 'filed'
   -- The same text told again files nothing anew.
   and not exists (
         select
           from (select page.*) page
           join statement old using (scope_id, file_id, line_key, entry_path, start_char)
          where old.state in (page.state, 'put_back')
            and old.rev_end is null)
union all
-- What was taken out of a page by a call that says why is listed, also where no entry holds its words.
select scope_id, tenant_id, file_id, line_key, null, '', 0, 0, state, rev, held_in, newer, %(tool_call_id)s, null, null
  from page
 where change = 'ended'
   and state <> 'removed'
   and (scope_id, file_id, line_key) not in (select scope_id, file_id, line_key from ended)
    on conflict do nothing;
