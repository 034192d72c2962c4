-- Choose who decides in a mount, or until when no dream begins there; null leaves a choice as it is. No rows.
insert into dream (scope_id, tenant_id, mode, auto_kinds, paused_until)
values (%(scope_id)s, %(tenant_id)s, coalesce(%(mode)s, 'off'), coalesce(%(auto_kinds)s::text[], '{}'),
        %(paused_until)s)
    on conflict (scope_id) do update
   set mode = coalesce(%(mode)s, dream.mode),
       auto_kinds = coalesce(%(auto_kinds)s::text[], dream.auto_kinds),
       paused_until = %(paused_until)s;
