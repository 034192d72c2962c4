-- The revisions that the batches of a user's import in these logs wrote, in their order. The report of the import names
-- the batches; those of an import that did not end are found by their ids. There is always one row; null for none.
with report as (
  select response -> 'result' -> 'calls' as calls
    from operation
   where scope_id = any (%(scope_ids)s::bigint[])
     and user_id = %(user_id)s
     and tool_call_id = %(tool_call_id)s
     and kind = 'memory_import'
     and status = 'answered'
     and parent_id is null
   order by operation_id desc
   limit 1
)
select array_agg(written.reference order by batch.operation_id, written.ordinal) as writes
  from operation batch
 cross join lateral jsonb_array_elements_text(batch.response -> 'writes')
            with ordinality as written (reference, ordinal)
 where batch.scope_id = any (%(scope_ids)s::bigint[])
   and batch.user_id = %(user_id)s
   and batch.tool_call_id > %(tool_call_id)s || '.'
   and batch.tool_call_id < %(tool_call_id)s || '/'  -- the character after the full stop
   and batch.kind = 'memory_import'
   and batch.status = 'committed'
   and batch.parent_id is null
   and case when exists (select from report)
            then (select calls from report) ? batch.tool_call_id
            else substr(batch.tool_call_id, length(%(tool_call_id)s) + 1) ~ '^([.][0-9]+)+$'
       end;
