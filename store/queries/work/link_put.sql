-- Link a label to a project, in place of an older link. A row if that changes something; none if it was so, or if the
-- user has `max_links` already.
insert into work_link (scope_id, tenant_id, label, slug, linked_at)
select %(scope_id)s, %(tenant_id)s, %(label)s::text, %(slug)s::text, %(linked_at)s::timestamptz
 where (select count(*) from work_link where scope_id = %(scope_id)s) < %(max_links)s::integer
    or exists (select from work_link where scope_id = %(scope_id)s and label = %(label)s::text)
on conflict (scope_id, label) do update
   set slug = excluded.slug, linked_at = excluded.linked_at
 where work_link.slug <> excluded.slug
returning label;
