-- Documents of some scopes by root and path, those that pass the filters, a null being no filter; `after` are the place of
-- the last one before in the order of scopes, its root and its path.
select searched.place::integer as place, document.scope_id, root.name as root, document.owner, document.path, document.version, document.kind,
       document.title, document.tags, document.sha256, document.size_bytes, document.changed_at, document.updated_at
  from unnest(%(scope_ids)s::bigint[]) with ordinality as searched (scope_id, place)
 cross join lateral (
        select *
          from document_root
         where document_root.scope_id = searched.scope_id
           and (%(root)s::text is null or document_root.name = %(root)s)
        offset 0) as root
 cross join lateral (
        select *
          from document
         where document.scope_id = searched.scope_id
           and document.root_no = root.root_no
           and starts_with(document.path, %(prefix)s::text)
           and document.tag_keys @> %(tags)s::text[]
           and (%(after_path)s::text is null
                or (searched.place, root.name) > (%(after_place)s::integer, %(after_root)s::text collate "C")
                or (searched.place, root.name) = (%(after_place)s, %(after_root)s collate "C")
                   and document.path > %(after_path)s collate "C")
         order by document.path
         limit %(limit)s) as document
 where %(after_path)s::text is null
    or (searched.place, root.name) >= (%(after_place)s::integer, %(after_root)s::text collate "C")
 order by searched.place, root.name, document.path
 limit %(limit)s;
