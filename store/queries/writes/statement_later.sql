-- The lines of pages in these scopes that were said by calls which were accepted later than a moment, and not on a day
-- before `day`; at these paths, or at all. No row where nothing later stands, and none for lines of which no call said
-- when it was accepted.
select distinct page.scope_id, page.path, statement.line_key
  from statement
  join revision page using (scope_id, file_id)
 where statement.scope_id = any (%(scope_ids)s::bigint[])
   and statement.rev_end is null
   and statement.state in ('in_force', 'put_back')
   and statement.accepted_at > %(accepted_at)s
   and statement.said_on >= %(day)s
   and page.rev_end is null
   and not page.deleted
   and (%(paths)s::text[] is null or page.path = any (%(paths)s))
 order by page.scope_id, page.path, statement.line_key;
