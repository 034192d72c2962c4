-- Make a root, unless there is one of this name. No rows.
with taken as (
  update document_stat
     set next_root = next_root + 1
   where scope_id = %(scope_id)s
     and not exists (select
                       from document_root
                      where document_root.scope_id = %(scope_id)s
                        and document_root.name = %(name)s)
  returning next_root - 1 as root_no
)
insert into document_root (scope_id, tenant_id, root_no, name, owner)
select %(scope_id)s::bigint, %(tenant_id)s::bigint, root_no, %(name)s::text, %(owner)s::text
  from taken
on conflict (scope_id, name) do nothing;
