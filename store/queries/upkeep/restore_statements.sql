-- Put what became of lines of pages into a scope. The entries that hold their words are those of users of the same tenant.
insert into statement
  (scope_id, tenant_id, file_id, line_key, entry_scope, entry_path, start_char, end_char, state, rev, rev_end, held_in,
   newer, tool_call_id, changed_at, said_on, accepted_at)
select %(scope_id)s::bigint, %(tenant_id)s::bigint, put.file_id, decode(put.line_key, 'hex'), owner.scope_id,
       put.entry_path, put.start_char, put.end_char, put.state, put.rev, put.rev_end, put.held_in, put.newer,
       put.tool_call_id, put.changed_at, put.said_on, put.accepted_at
  from jsonb_to_recordset(%(statements)s::jsonb)
         as put (file_id bigint, line_key text, entry_owner text, entry_path text, start_char integer, end_char integer,
                 state text, rev bigint, rev_end bigint, held_in text, newer text, tool_call_id text,
                 changed_at timestamptz, said_on date, accepted_at timestamptz)
  left join scope owner
    on owner.tenant_id = %(tenant_id)s::bigint
   and owner.kind = 'user'
   and owner.key = put.entry_owner
    on conflict do nothing;
