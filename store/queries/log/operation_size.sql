-- How many rows the calls of one log take, whose ids begin so, and how many bytes, by call. For benchmarks.
select tool_call_id, count(*) as operations, sum(pg_column_size(operation.*))::bigint as size_bytes
  from operation
 where scope_id = %(scope_id)s
   and starts_with(tool_call_id, %(prefix)s)
 group by tool_call_id
 order by tool_call_id;
