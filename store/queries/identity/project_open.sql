-- Make a project in the language of the tenant's shared files, or open it again. A row with `created` true when it
-- was made.
insert into scope (tenant_id, kind, key, language)
values (%(tenant_id)s::bigint, 'project', %(slug)s::text,
        coalesce((select shared.language
                    from scope shared
                   where shared.tenant_id = %(tenant_id)s
                     and shared.kind = 'shared'
                     and shared.key = ''), 'english'))
on conflict (tenant_id, kind, key) do update set closed_at = null
returning scope_id, (xmax = 0) as created;
