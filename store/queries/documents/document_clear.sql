-- Remove documents, and take others from their paths, which may be given to others at once. The scope's lock is held. No
-- rows.
with gone as (
  delete from document
   using unnest(%(removed)s::bigint[]) as removed (document_id)
   where document.scope_id = %(scope_id)s
     and document.document_id = removed.document_id
)
update document
   set path = chr(10) || document.document_id
  from unnest(%(moved)s::bigint[]) as moved (document_id)
 where document.scope_id = %(scope_id)s
   and document.document_id = moved.document_id;
