-- Note how many passages documents and roots of a scope have, after an index was made anew. The scope's lock is held. No
-- rows.
with counted as (
  update document
     set passages = found.passages
    from (select document.document_id, count(chunk.chunk_id)::integer as passages
            from document
            left join chunk
              on chunk.scope_id = document.scope_id
             and chunk.file_id = document.document_id
           where document.scope_id = %(scope_id)s
           group by document.document_id) as found
   where document.scope_id = %(scope_id)s
     and document.document_id = found.document_id
  returning document.root_no, found.passages
)
update document_root
   set passages = coalesce((select sum(counted.passages) from counted where counted.root_no = document_root.root_no), 0)
 where document_root.scope_id = %(scope_id)s;
