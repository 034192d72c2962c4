-- Put the limits of a tenant, a user or a project, or of all users or projects, in the place of those before. No rows.
insert into quota (tenant_id, kind, key, files, bytes, revisions, stored_bytes)
values (%(tenant_id)s::bigint, %(kind)s::text, %(key)s::text, %(files)s::bigint, %(bytes)s::bigint,
        %(revisions)s::bigint, %(stored_bytes)s::bigint)
on conflict (tenant_id, kind, key) do update
   set files = excluded.files,
       bytes = excluded.bytes,
       revisions = excluded.revisions,
       stored_bytes = excluded.stored_bytes;
