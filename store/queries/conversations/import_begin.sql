-- Begin an import. No row comes back when another one of the user is under way.
insert into conversation_import (scope_id, tenant_id, import_id, name, is_dry_run)
values (%(scope_id)s, %(tenant_id)s, %(import_id)s, %(name)s, %(is_dry_run)s)
on conflict (scope_id) where ended_at is null do nothing
returning import_id;
