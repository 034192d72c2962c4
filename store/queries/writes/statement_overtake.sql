-- Record that newer statements took the place of words of entries, which no page holds: an entry of such words is their
-- page. The journal has its new revisions already. No rows; words of which that is known stay as they are.
with words as materialized (
  select taken.*, decode(taken.key, 'hex') as line_key, scope.rev, scope.tenant_id, head.file_id
    from jsonb_to_recordset(%(words)s::jsonb)
           as taken (scope_id bigint, path text, key text, state text, held_in text, newer text, start_char integer,
                     end_char integer)
    join scope using (scope_id)
   cross join lateral (
          select revision.file_id
            from revision
           where revision.scope_id = taken.scope_id
             and revision.path = taken.path
             and revision.rev_end is null
           order by revision.deleted, revision.version desc
           limit 1) as head
),
-- What holds again in its entry, and does not once more.
ended as (
  update statement as old
     set rev_end = words.rev
    from words
   where old.scope_id = words.scope_id
     and old.file_id = words.file_id
     and old.line_key = words.line_key
     and old.start_char = words.start_char
     and old.state = 'put_back'
     and old.rev_end is null
)
insert into statement
  (scope_id, tenant_id, file_id, line_key, entry_scope, entry_path, start_char, end_char, state, rev, held_in, newer,
   tool_call_id)
select scope_id, tenant_id, file_id, line_key, scope_id, path, start_char, end_char, state, rev, held_in, newer,
       %(tool_call_id)s
  from words
 where not exists (
         select
           from statement as old
          where old.scope_id = words.scope_id
            and old.file_id = words.file_id
            and old.line_key = words.line_key
            and old.start_char = words.start_char
            and old.state in ('replaced', 'closed', 'forgotten', 'removed')
            and old.rev_end is null)
    on conflict do nothing;
