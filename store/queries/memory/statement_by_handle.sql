-- What became last of the line that a handle of `statement_removed` names: `is_gone` unless it was put back, or stands
-- elsewhere, since. No row for a handle that names no line of these scopes.
select statement.scope_id, statement.line_key, statement.held_in, statement.state,
       statement.rev_end is null and statement.state in ('replaced', 'closed', 'forgotten', 'removed') as is_gone,
       page.path
  from statement
  left join lateral (
         select revision.path
           from revision
          where revision.scope_id = statement.scope_id
            and revision.file_id = statement.file_id
            and revision.rev_end is null
            and not revision.deleted) as page on true
 where statement.scope_id = any (%(scope_ids)s::bigint[])
   and statement.held_in is not null
   and left(encode(sha256(convert_to(statement.scope_id || ':' || statement.file_id || ':', 'UTF8')
                          || statement.line_key), 'hex'), 12) = %(handle)s
 order by statement.rev_end is null desc, statement.state = 'removed', statement.rev desc
 limit 1;
