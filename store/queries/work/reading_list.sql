-- The projects that one reads from, of those that the caller may read. No row if there is none.
select read_scope_id, added_at
  from project_reading
 where scope_id = %(scope_id)s
   and read_scope_id = any (%(readable)s::bigint[])
 order by added_at, read_scope_id;
