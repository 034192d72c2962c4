-- A document with its text. No row if there is none. It is the first from its path on, as in document_known.
select document.scope_id, root.name as root, document.owner, document.path, document.version, document.kind,
       document.title, document.tags, document.sha256, document.size_bytes, document.changed_at, document.updated_at,
       document.text
  from document_root as root
 cross join lateral (
        select *
          from document
         where document.scope_id = root.scope_id
           and document.root_no = root.root_no
           and document.path >= %(path)s
         order by document.path
         limit 1) as document
 where root.scope_id = %(scope_id)s
   and root.name = %(root)s
   and document.path = %(path)s;
