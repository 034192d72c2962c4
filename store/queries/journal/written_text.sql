-- The versions of a file after a change of its scope, in their order: what each says, and which call wrote it.
select rev, tool_call_id, case when deleted then '' else content end as content
  from revision
 where scope_id = %(scope_id)s
   and file_id = %(file_id)s
   and rev > %(after)s
 order by rev
 limit %(limit)s;
