-- The deletion by which a file left a scope to become path@version in another. No row when it came from elsewhere.
select path, version
  from revision
 where scope_id = %(scope_id)s
   and counterpart = %(counterpart)s
   and tool_call_id = %(tool_call_id)s
   and operation = 'move'
   and deleted
 limit 1;
