-- The roots of some scopes, by name.
select document_root.*
  from unnest(%(scope_ids)s::bigint[]) as searched (scope_id)
 cross join lateral (
        select *
          from document_root
         where document_root.scope_id = searched.scope_id
        offset 0) as document_root
 order by document_root.name, document_root.scope_id;
