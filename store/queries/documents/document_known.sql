-- Documents of a root by their paths. No row for a path without one. A document is the first from its path on, and not the
-- one at its path: without statistics the index of texts would seem as good for that, and be read whole each time.
select document.document_id, document.path, document.version, document.sha256, document.kind, document.given_tags,
       document.size_bytes, document.passages
  from unnest(%(paths)s::text[]) as wanted (path)
 cross join lateral (
        select root_no
          from document_root
         where document_root.scope_id = %(scope_id)s
           and document_root.name = %(name)s
        offset 0) as root
 cross join lateral (
        select *
          from document
         where document.scope_id = %(scope_id)s
           and document.root_no = root.root_no
           and document.path >= wanted.path
         order by document.path
         limit 1) as document
 where document.path = wanted.path;
