-- Note how far an import is, and that its process is there. No row comes back when it has ended, or is not there.
update conversation_import
   set state = %(state)s,
       size_bytes = %(size_bytes)s,
       report = %(report)s::jsonb,
       error = %(error)s::jsonb,
       heard_at = now(),
       ended_at = case when %(is_ended)s then now() end
 where scope_id = %(scope_id)s
   and import_id = %(import_id)s
   and ended_at is null
returning wants_end;
