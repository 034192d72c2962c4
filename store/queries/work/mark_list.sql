-- What a person decided by hand about items of work, in the order of time. No row if nothing was.
select item_id, action, marked_at as at, tool_call_id, ends_on
  from work_mark
 where scope_id = %(scope_id)s
 order by marked_at, item_id;
