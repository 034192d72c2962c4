-- Record that the words from which lines were made that a call took out stand in other lines, which say the same. No rows.
insert into statement
  (scope_id, tenant_id, file_id, line_key, entry_scope, entry_path, start_char, end_char, state, rev, tool_call_id,
   said_on, accepted_at)
select gone.scope_id, gone.tenant_id, head.file_id, decode(line.kept_key, 'hex'), gone.entry_scope, gone.entry_path,
       gone.start_char, gone.end_char, 'in_force', gone.rev, gone.tool_call_id, gone.said_on, gone.accepted_at
  from jsonb_to_recordset(%(lines)s::jsonb) as line (key text, path text, kept_key text, kept_path text)
  join revision as head
    on head.scope_id = %(scope_id)s
   and head.path = line.kept_path
   and head.rev_end is null
   and not head.deleted
  join statement as gone
    on gone.scope_id = head.scope_id
   and gone.line_key = decode(line.key, 'hex')
   and gone.state = 'removed'
   and gone.rev_end is null
   and gone.entry_scope is not null
   and gone.tool_call_id = %(tool_call_id)s
    on conflict do nothing;
