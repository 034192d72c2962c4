-- Have a call carried out once this transaction is committed. No row comes back when it is not queued.
select remember_later(scope_id, operation_id) as deferred
  from operation
 where scope_id = %(scope_id)s
   and user_id = %(user_id)s
   and tool_call_id = %(tool_call_id)s
   and parent_id is null
   and status = 'queued';
