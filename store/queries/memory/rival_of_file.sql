-- What newer statements contradict lines of these pages and words of these entries, as memory stood after the change `rev`
-- of each scope; and where each newer one stands. No row for a newer one whose file is gone, whose words newer ones took the
-- place of, or beside which the older one holds. Words of an entry of which a page made a line are older as that line is.
with seen as (
  select scope_id, rev
    from unnest(%(scope_ids)s::bigint[], %(revs)s::bigint[]) as seen (scope_id, rev)
),
older as (
  select rival.older_scope as scope_id, rival.older_path as path, rival.older_key as line_key,
         rival.older_start as start_char, rival.older_end as end_char, rival.scope_id as row_scope, rival.newer_scope,
         rival.newer_path, rival.newer_key, rival.newer_start, rival.newer_end, rival.is_settled, rival.rev,
         rival.rev_end
    from unnest(%(file_scopes)s::bigint[], %(paths)s::text[]) as wanted (scope_id, path)
    join rival
      on rival.older_scope = wanted.scope_id
     and rival.older_path = wanted.path
  union all
  select statement.entry_scope, statement.entry_path, statement.line_key, statement.start_char, statement.end_char,
         rival.scope_id, rival.newer_scope, rival.newer_path, rival.newer_key, rival.newer_start, rival.newer_end,
         rival.is_settled, rival.rev, rival.rev_end
    from statement
    join seen using (scope_id)
    join rival
      on rival.older_scope = statement.scope_id
     and rival.older_key = statement.line_key
   where statement.entry_scope = %(entry_scope)s
     and statement.entry_path = any (%(entries)s::text[])
     and statement.state in ('in_force', 'put_back')
     and statement.rev <= seen.rev
     and (statement.rev_end is null or statement.rev_end > seen.rev)
)
select older.scope_id, older.path, older.line_key, older.start_char, older.end_char, older.newer_scope, older.newer_path,
       older.newer_key, older.newer_start, older.newer_end, head.version, head.size_chars
  from older
  join seen
    on seen.scope_id = older.row_scope
  join seen as newer
    on newer.scope_id = older.newer_scope
 cross join lateral (
        select revision.version, revision.size_chars, revision.rev_end, revision.deleted
          from revision
         where revision.scope_id = older.newer_scope
           and revision.path = older.newer_path
           and revision.rev <= newer.rev
         order by revision.version desc
         limit 1) as head
 where not older.is_settled
   and older.rev <= seen.rev
   and (older.rev_end is null or older.rev_end > seen.rev)
   and not head.deleted
   and (head.rev_end is null or head.rev_end > newer.rev)
   and not exists (
         select
           from statement as gone
          where gone.entry_scope = older.newer_scope
            and gone.entry_path = older.newer_path
            and gone.start_char < older.newer_end
            and older.newer_start < gone.end_char
            and gone.state in ('replaced', 'closed', 'forgotten', 'removed')
            and gone.rev <= (select rev from seen where seen.scope_id = gone.scope_id)
            and (gone.rev_end is null or gone.rev_end > (select rev from seen where seen.scope_id = gone.scope_id)));
