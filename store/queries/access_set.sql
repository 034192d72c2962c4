-- Say for this transaction who acts and what it may see; row-level security does the rest.
select set_config('role', %(database_role)s, true),
       set_config('memex.acting', %(role)s, true),
       set_config('memex.tenant', %(tenant_id)s::text, true),
       set_config('memex.readable', %(readable)s::bigint[]::text, true),
       set_config('memex.writable', %(writable)s::bigint[]::text, true);
