-- Ask the process that reads an import to end it. No row comes back when it has ended, or is not there.
update conversation_import
   set wants_end = true
 where scope_id = %(scope_id)s
   and import_id = %(import_id)s
   and ended_at is null
returning import_id;
