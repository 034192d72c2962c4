-- Some documents that the manifest of a sync lacks; of a null `sync`, any documents of the root.
select document_id, size_bytes
  from document
 where scope_id = %(scope_id)s
   and root_no = (select root_no
                    from document_root
                   where document_root.scope_id = %(scope_id)s
                     and document_root.name = %(name)s)
   and (%(sync)s::integer is null or missed_by = %(sync)s)
 order by document_id
 limit %(limit)s;
